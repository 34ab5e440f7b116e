"""Rollouts on simulated fleets, looked at once a day.

Real are the pairs, the tests and the rings; drawn are the applications. Each runs every fingerprint once, its durations
have a factor of its own and noise, its log arrives at once or days late, and old logs are deleted.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from aqe_plugin.events.model import TrialArm
from aqe_plugin.install.journal import Phase
from aqe_plugin.tuning.history import Failure, QueryHistory, Run
from aqe_plugin.tuning.recommendation import Evidence
from aqe_plugin.tuning.rollout.application_pairs import Pair
from aqe_plugin.tuning.rollout.ledger import SCHEMA_VERSION, RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring, RingLimits, advance, is_over
from aqe_plugin.tuning.rollout.trial import Trial, observed

_DAY_MILLIS = 86_400_000
_FIRST_DAY = 20_000
_MOST_DAYS = 365
_MOST_DAYS_LATE = 3
_QUERY_MILLIS = 60_000


@dataclass(frozen=True, slots=True)
class Fleet:
    """The applications of a cluster.

    Attributes:
        a_day: applications that start each day.
        fingerprints: queries of each application.
        spread: standard deviation of the logarithm of an application's own factor.
        noise: the same of each query.
        fails: share of the queries that fail whatever the conf.
        late: share of the logs that arrive one to three days late.
        kept_days: a log is deleted when it is that old.
    """

    a_day: int = 20
    fingerprints: int = 4
    spread: float = 0.1
    noise: float = 0.1
    fails: float = 0.001
    late: float = 0.1
    kept_days: int = 7


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change does: the factor of all durations, and the share of the queries that it makes fail."""

    slowdown: float = 1.0
    fails: float = 0.0


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

    ``failures`` and ``runs`` are together its queries.
    """

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    arrives: int
    deleted: int


def rollout(fleet: Fleet, effect: Effect, share: float, limits: RingLimits, seed: int) -> Ending:
    """One rollout, from the moment at which ``share`` of the applications have the change to its end."""
    dice = random.Random(seed)
    steps = [_step(Ring.CANARY, _FIRST_DAY, share)]
    logs = [_log(fleet, Effect(), None, day, dice) for day in _days_before(fleet) for _ in range(fleet.a_day)]
    pairs: list[Pair] = []
    compared = 0
    for day in range(_FIRST_DAY, _FIRST_DAY + _MOST_DAYS):
        ring = steps[-1].ring
        for _ in range(fleet.a_day):
            arm = _drawn(share, dice) if ring is Ring.CANARY else None
            logs.append(_log(fleet, Effect() if arm is TrialArm.CONTROL else effect, arm, day, dice))
        logs = [one for one in logs if one.deleted > day]
        trial = Trial(tuple(steps), _history([one for one in logs if one.arrives <= day]), tuple(pairs))
        observation, added = observed(trial, limits)
        pairs += added
        compared += len(added)
        move = advance(ring, observation, limits)
        if is_over(move.ring):
            return Ending(move.ring, move.why, day - _FIRST_DAY + 1, compared)
        if move.ring is not ring:
            steps.append(_step(move.ring, day + 1, share))
            pairs = []
    return Ending(steps[-1].ring, "still under way", _MOST_DAYS, compared)


def _days_before(fleet: Fleet) -> range:
    return range(_FIRST_DAY - fleet.kept_days, _FIRST_DAY)


def _drawn(share: float, dice: random.Random) -> TrialArm:
    return TrialArm.CANARY if dice.random() < share else TrialArm.CONTROL


def _log(fleet: Fleet, effect: Effect, arm: TrialArm | None, day: int, dice: random.Random) -> _Log:
    name = f"application_{day}_{dice.getrandbits(48):012x}"
    scale = _QUERY_MILLIS * effect.slowdown * math.exp(dice.gauss(0, fleet.spread))
    at_millis = day * _DAY_MILLIS + dice.randrange(1, _DAY_MILLIS // 2)
    runs, failures = [], []
    for number in range(fleet.fingerprints):
        at_millis += _QUERY_MILLIS
        if dice.random() < fleet.fails or dice.random() < effect.fails:
            failures.append(Failure(f"c{number}", name, at_millis, arm))
        else:
            millis = max(1, round(scale * math.exp(dice.gauss(0, fleet.noise))))
            runs.append(Run(f"c{number}", name, at_millis, millis, (), arm))
    late = dice.randint(1, _MOST_DAYS_LATE) if dice.random() < fleet.late else 0
    return _Log(tuple(runs), tuple(failures), day + late, day + late + fleet.kept_days)


def _history(logs: Sequence[_Log]) -> QueryHistory:
    return QueryHistory(
        tuple(run for log in logs for run in log.runs), tuple(one for log in logs for one in log.failures)
    )


def _step(ring: Ring, day: int, share: float) -> RolloutStep:
    return RolloutStep(
        schema_version=SCHEMA_VERSION,
        number=1,
        phase=Phase.DONE,
        at_millis=day * _DAY_MILLIS,
        who="simulation",
        ring=ring,
        why="",
        asked_why="",
        group="asked",
        changes=(),
        evidence=Evidence(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0),
        confidence=0.0,
        canary_share=share,
    )
