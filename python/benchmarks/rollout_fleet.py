"""Rollouts on simulated fleets, looked at once a day.

Real are the pairs, the tests and the rings; drawn are the applications. Each runs its queries one after the other, with
a factor of its own and noise, its log arrives at once or days late, and old logs are deleted.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aqe_plugin.events.model import TrialArm
from aqe_plugin.tuning.history import (
    DAY_MILLIS,
    Application,
    Failure,
    QueryHistory,
    application_has_ended,
    query_is_lost,
)
from aqe_plugin.tuning.recommendation import Evidence
from aqe_plugin.tuning.rollout.application_pairs import Pair
from aqe_plugin.tuning.rollout.ledger import SCHEMA_VERSION, RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring, RingLimits, advance, is_over
from aqe_plugin.tuning.rollout.trial import Trial, observed
from aqe_plugin.tuning.runs import Run

_FIRST_DAY = 20_000
_MOST_DAYS = 365
_QUERY_MILLIS = 60_000
_LONG_APPLICATION_MILLIS = 20 * 3_600_000
_LIKE_THE_DAY_BEFORE = 0.9


@dataclass(frozen=True, slots=True)
class Fleet:
    """The applications of a cluster.

    Attributes:
        a_day: applications that start each day.
        fingerprints: queries of each application.
        starts_within_millis: from midnight until then applications start.
        looked_at_millis: so long after midnight the look is; what runs then has not ended.
        spread: standard deviation of the logarithm of an application's own factor.
        noise: the same of each query.
        daily: the same of each day, for all its applications; a day resembles the one before it.
        fails: share of the queries that fail whatever the conf.
        aborts: whether a failed query ends its application.
        late: share of the logs that arrive one to ``most_days_late`` days late.
        kept_days: a log is deleted when it is that old.
        long: share of the applications that take about 20 hours.
    """

    a_day: int = 20
    fingerprints: int = 4
    starts_within_millis: int = DAY_MILLIS // 2
    looked_at_millis: int = DAY_MILLIS - 1
    spread: float = 0.1
    noise: float = 0.1
    daily: float = 0.0
    fails: float = 0.001
    aborts: bool = False
    late: float = 0.1
    most_days_late: int = 3
    kept_days: int = 7
    long: float = 0.0


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change does.

    Attributes:
        slowdown: factor of all durations.
        fails: share of the queries that it makes fail.
        kills: share of the queries that end their driver, long ones just before they would have ended; such a log
            never ends.
    """

    slowdown: float = 1.0
    fails: float = 0.0
    kills: float = 0.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a rollout ended.

    Attributes:
        days: looks until then.
        applications: applications with the change that were compared, in all rings.
    """

    ring: Ring
    why: str
    days: int
    applications: int


@dataclass(frozen=True, slots=True)
class _Log:
    """The queries of one application, the first day on which a look finds its log, and the first on which it does not.

    Attributes:
        queries: in the order in which they ended; at most one in ``open`` did not.
        ended_millis: of the application, when its log was last written to.
        is_whole: whether its log ended with it.
    """

    application: Application
    queries: tuple[Run | Failure, ...]
    open: tuple[Failure, ...]
    ended_millis: int
    is_whole: bool
    arrives: int
    deleted: int


def rollout(fleet: Fleet, effect: Effect, share: float | None, limits: RingLimits, seed: int) -> Ending:
    """One rollout, from the moment at which ``share`` of the applications, or without one all, have the change."""
    dice = random.Random(seed)
    steps = [rollout_step(Ring.CANARY if share else Ring.ALL, _FIRST_DAY * DAY_MILLIS, share)]
    level = dice.gauss(0, fleet.daily)
    logs: list[_Log] = []
    pairs: list[Pair] = []
    compared = 0
    for day in range(_FIRST_DAY - fleet.kept_days, _FIRST_DAY + _MOST_DAYS):
        level = _LIKE_THE_DAY_BEFORE * level + dice.gauss(0, fleet.daily) * math.sqrt(1 - _LIKE_THE_DAY_BEFORE**2)
        ring = steps[-1].ring if day >= _FIRST_DAY else Ring.OBSERVE
        for _ in range(fleet.a_day):
            arm = _drawn(share, dice) if share and ring is Ring.CANARY else None
            has_change = arm == "canary" or ring is Ring.ALL
            logs.append(_log(fleet, effect if has_change else Effect(), arm, day, level, dice))
        logs = [one for one in logs if one.deleted > day]
        if ring is Ring.OBSERVE:
            continue
        history = _history([one for one in logs if one.arrives <= day], day * DAY_MILLIS + fleet.looked_at_millis)
        observation, new = observed(Trial(tuple(steps), history, tuple(pairs)), limits)
        pairs += new.pairs
        compared += len(new.pairs)
        move = advance(ring, observation, limits)
        if is_over(move.ring):
            return Ending(move.ring, move.why, day - _FIRST_DAY + 1, compared)
        if move.ring is not ring:
            steps.append(rollout_step(move.ring, (day + 1) * DAY_MILLIS, share))
            pairs = []
    return Ending(steps[-1].ring, "still under way", _MOST_DAYS, compared)


def _drawn(share: float, dice: random.Random) -> TrialArm:
    return "canary" if dice.random() < share else "control"


def _log(fleet: Fleet, effect: Effect, arm: TrialArm | None, day: int, level: float, dice: random.Random) -> _Log:
    name = f"application_{day}_{dice.getrandbits(48):012x}"
    # Without long applications no number is drawn, so that the seeds of all other fleets mean what they did.
    is_long = fleet.long > 0 and dice.random() < fleet.long
    usual_millis = _LONG_APPLICATION_MILLIS / fleet.fingerprints if is_long else _QUERY_MILLIS
    scale = usual_millis * effect.slowdown * math.exp(level + dice.gauss(0, fleet.spread))
    started_millis = at_millis = day * DAY_MILLIS + dice.randrange(1, fleet.starts_within_millis)
    queries: list[Run | Failure] = []
    killed: list[Failure] = []
    for number in range(fleet.fingerprints):
        millis = max(1, round(scale * math.exp(dice.gauss(0, fleet.noise))))
        if dice.random() < effect.kills:
            # Its last event is that of its decisions, which come early.
            killed.append(Failure(f"c{number}", name, at_millis, arm))
            at_millis += millis if is_long else 0
            break
        at_millis += millis
        if dice.random() < fleet.fails or dice.random() < effect.fails:
            queries.append(Failure(f"c{number}", name, at_millis, arm))
            if fleet.aborts:
                break
        else:
            queries.append(Run(f"c{number}", name, at_millis, millis, (), arm))
    late = dice.randint(1, fleet.most_days_late) if dice.random() < fleet.late else 0
    application = Application(name, "long" if is_long else "nightly", "c0", started_millis)
    days = day + late, day + late + fleet.kept_days
    return _Log(application, tuple(queries), tuple(killed), at_millis, not killed, *days)


def _history(logs: Sequence[_Log], now_millis: int) -> QueryHistory:
    queries: list[Run | Failure] = []
    applications = []
    for log in logs:
        written = None if log.is_whole and log.ended_millis <= now_millis else min(log.ended_millis, now_millis)
        has_ended = application_has_ended(log.application.started_millis, written, now_millis)
        applications.append(replace(log.application, has_ended=has_ended))
        queries += [one for one in log.queries if one.at_millis <= now_millis]
        queries += [one for one in log.open if query_is_lost(one.at_millis, written, now_millis)]
    return QueryHistory(
        tuple(one for one in queries if isinstance(one, Run)),
        tuple(one for one in queries if isinstance(one, Failure)),
        (),
        tuple(applications),
    )


def rollout_step(ring: Ring, at_millis: int, share: float | None) -> RolloutStep:
    """A step of a rollout of no values."""
    return RolloutStep(
        schema_version=SCHEMA_VERSION,
        number=1,
        phase="done",
        at_millis=at_millis,
        who="simulation",
        ring=ring,
        why="",
        asked_why="",
        group="asked",
        changes=(),
        evidence=Evidence(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0),
        confidence=0.0,
        before_until_millis=at_millis,
        after_since_millis=at_millis,
        canary_share=share,
    )
