"""From history to a recommendation: which group of thresholds to move, how far, and on what evidence.

The history is priced at the coefficients that outcomes bear out (``calibrate``), then decided again with the thresholds
as they are and with a candidate: where the two decisions differ, the difference of those prices is what the candidate
saves. Candidates of a coefficient group are the scale that was found, those of a gate a ladder of factors. Only the
decisions are counted that some run really met, no group is moved together with another, and one step is bounded,
however far off the target is.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.tuning.calibrate import Calibration, Prices, RunPrices, calibrate, prices_of
from aqe_plugin.tuning.groups import COEFFICIENTS, GATES, Group, moved
from aqe_plugin.tuning.guards import Step
from aqe_plugin.tuning.recommendation import Evidence, Finding, KeyChange, Limits, Recommendation
from aqe_plugin.tuning.replay import JoinOption, Replay, Replayed
from aqe_plugin.tuning.runs import Run, newest, without_outliers

__all__ = ["recommend"]

# Rounding to three digits must not carry a full step beyond its limit.
_ROUNDING = 1.005
_NO_MOVE = 1.05
_LADDER = (1 / 8, 1 / 4, 1 / 2, 1 / math.sqrt(2), math.sqrt(2), 2.0, 4.0, 8.0)
_INTERVAL = 0.90
_BAD_LUCK = 0.99
_FAITHFUL = 1.5
# Of the logarithm of a factor: where the whole of it would harm a cohort, a part of it may not.
_SHARES = (1.0, 0.5, 0.25)


@dataclass(frozen=True, slots=True)
class _History:
    runs: list[Run]
    prices: list[RunPrices]
    calibration: Calibration
    decided: list[tuple[Replayed, ...]]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a candidate does: prices saved by group in all, by cohort, and the runs with another decision."""

    prices: Prices
    by_cohort: Mapping[str, Prices]
    changed: int


@dataclass(frozen=True, slots=True)
class _Move:
    """A factor to arrive at, and the steps towards it that might be taken now, the largest first."""

    group: Group
    target: float
    steps: tuple[float, ...]


def recommend(
    history: Sequence[Run],
    thresholds: Mapping[str, float],
    limits: Limits,
    replay: Replay,
    groups: Sequence[Group] = (*COEFFICIENTS, *GATES),
) -> tuple[Finding, ...]:
    """What is to be said of each of ``groups``, in their order. Pure but for what ``replay`` does.

    Args:
        history: finished runs, in any order.
        thresholds: every tuned key's present value, as ``groups.current`` gives them.
        limits: what evidence is enough and how far a step may go.
        replay: the plugin's decision function.
        groups: those that may be moved.
    """
    runs = _costliest(_enough(newest(history, limits.max_runs), limits.min_runs), limits.max_joins)
    if not runs:
        reason = f"no query shape with {limits.min_runs} runs, outliers not counted"
        return tuple(Finding(group.name, None, reason) for group in groups)
    known = _history(runs, thresholds, replay)
    moves = {group: _moves(group, known, limits) for group in groups}
    effects = _effects([move for found in moves.values() for move in found], known, thresholds, replay)
    return tuple(_finding(group, moves[group], effects, known, thresholds, limits) for group in groups)


def _enough(runs: Sequence[Run], least: int) -> list[Run]:
    kept = without_outliers(runs)
    count = Counter(run.cohort for run in kept)
    return [run for run in kept if count[run.cohort] >= least]


def _costliest(runs: Sequence[Run], most_joins: int) -> list[Run]:
    """The cohorts that take most time, as many as have ``most_joins`` joins together, and one at least."""
    millis: Counter[str] = Counter()
    joins: Counter[str] = Counter()
    for run in runs:
        millis[run.cohort] += run.duration_millis
        joins[run.cohort] += len(run.joins)
    kept, total = set[str](), 0
    for cohort in sorted(millis, key=lambda one: (-millis[one], one)):
        total += joins[cohort]
        if kept and total > most_joins:
            break
        kept.add(cohort)
    return [run for run in runs if run.cohort in kept]


def _history(runs: list[Run], thresholds: Mapping[str, float], replay: Replay) -> _History:
    prices = prices_of(runs, thresholds, replay)
    (decided,) = _decide(runs, [thresholds], replay)
    seconds = sum(run.duration_millis for run in runs) / 1000
    return _History(runs, prices, calibrate(runs, prices), decided, seconds)


def _decide(
    runs: Sequence[Run], thresholds: Sequence[Mapping[str, float]], replay: Replay
) -> list[list[tuple[Replayed, ...]]]:
    """For each of ``thresholds`` and each run, the decisions of its joins, from what was known beforehand."""
    found = []
    for decisions in replay([join.facts for run in runs for join in run.joins], thresholds):
        rest = iter(decisions)
        found.append([tuple(next(rest) for _ in run.joins) for run in runs])
    return found


def _moves(group: Group, known: _History, limits: Limits) -> list[_Move]:
    if group in GATES:
        return [_Move(group, factor, _steps(factor, limits)) for factor in _LADDER]
    at = COEFFICIENTS.index(group)
    scale = known.calibration.scales[at]
    far_enough = max(scale, 1 / scale) >= _NO_MOVE
    if not far_enough or not _identified(group, known, limits):
        return []
    # While other groups are still off, the way to the right price may be too far by itself.
    return [_Move(group, scale**share, _steps(scale**share, limits)) for share in _SHARES]


def _identified(group: Group, known: _History, limits: Limits) -> bool:
    return known.calibration.identified[COEFFICIENTS.index(group)] >= limits.min_identified


def _steps(factor: float, limits: Limits) -> tuple[float, ...]:
    reach = max(1.0, limits.max_step / _ROUNDING)
    bounded = min(max(factor, 1 / reach), reach)
    return tuple(bounded**share for share in _SHARES)


def _effects(
    moves: Sequence[_Move], known: _History, thresholds: Mapping[str, float], replay: Replay
) -> dict[tuple[str, float], _Effect]:
    """The effect of each factor that is a target or a step, by group and factor."""
    wanted = {(move.group.name, factor): move.group for move in moves for factor in (move.target, *move.steps)}
    candidates = [{**thresholds, **moved(thresholds, group, factor)} for (_, factor), group in wanted.items()]
    answers = _decide(known.runs, candidates, replay) if candidates else []
    return {key: _effect(decided, known) for key, decided in zip(wanted, answers, strict=True)}


def _effect(decided: Sequence[Sequence[Replayed]], known: _History) -> _Effect:
    nothing = (0.0,) * len(COEFFICIENTS)
    by_cohort: defaultdict[str, Prices] = defaultdict(lambda: nothing)
    changed = 0
    for run, prices, before, after in zip(known.runs, known.prices, known.decided, decided, strict=True):
        saved = [
            _saved(priced, old.option, new.option)
            for priced, old, new in zip(prices, before, after, strict=True)
            if old.option != new.option
        ]
        if saved:
            changed += 1
            by_cohort[run.cohort] = tuple(map(math.fsum, zip(by_cohort[run.cohort], *saved, strict=True)))
    return _Effect(tuple(map(math.fsum, zip(nothing, *by_cohort.values(), strict=True))), by_cohort, changed)


def _saved(prices: Mapping[JoinOption, Prices], old: JoinOption | None, new: JoinOption | None) -> Prices:
    """What goes from one option to the other; nothing when one of them has no price."""
    if old is None or new is None or old not in prices or new not in prices:
        return (0.0,) * len(COEFFICIENTS)
    return tuple(a - b for a, b in zip(prices[old], prices[new], strict=True))


def _finding(
    group: Group,
    moves: Sequence[_Move],
    effects: Mapping[tuple[str, float], _Effect],
    known: _History,
    thresholds: Mapping[str, float],
    limits: Limits,
) -> Finding:
    if not moves:
        return Finding(group.name, None, _why_no_move(group, known, limits))

    # Of gates that save the same, the smallest move.
    def saved(move: _Move) -> tuple[float, float]:
        prices = effects[group.name, move.target].prices
        return round(known.calibration.millis(prices), 3), -abs(math.log(move.target))

    move = max(moves, key=saved)
    target = effects[group.name, move.target]
    if target.changed == 0:
        return Finding(group.name, None, "no logged decision would change")
    seconds, needed = known.calibration.millis(target.prices) / 1000, limits.min_saving * known.seconds
    if seconds < needed:
        return Finding(
            group.name, None, f"would save {seconds:.3g} s of {known.seconds:.3g} s; {needed:.3g} s are worth a change"
        )
    regressions = {factor: _worst_regression(effects[group.name, factor], known) for factor in move.steps}
    harmless = (factor for factor, regression in regressions.items() if regression <= limits.max_regression)
    step = next(harmless, move.steps[0])
    changes = tuple(
        KeyChange(PREFIX + key, thresholds[key], value)
        for key, value in moved(thresholds, group, step).items()
        if value != thresholds[key]
    )
    if not changes:
        return Finding(group.name, None, "at the end of what is allowed")
    return Finding(group.name, _recommendation(move, changes, target, effects[group.name, step], known), "")


def _recommendation(
    move: _Move, changes: tuple[KeyChange, ...], target: _Effect, step: _Effect, known: _History
) -> Recommendation:
    mean, deviation = known.calibration.millis(target.prices), known.calibration.deviation(target.prices)
    confidence = NormalDist().cdf(mean / deviation) if deviation > 0 else 1.0
    if move.group in GATES:
        confidence *= _faithfulness(known.runs)
    reach = NormalDist().inv_cdf((1 + _INTERVAL) / 2) * deviation
    runs = Counter(run.cohort for run in known.runs)
    evidence = Evidence(
        queries=len(known.runs),
        cohorts=len(runs),
        changed=target.changed,
        seconds=mean / 1000,
        low=(mean - reach) / 1000,
        high=(mean + reach) / 1000,
        seconds_now=known.calibration.millis(step.prices) / 1000,
        since_millis=min(run.at_millis for run in known.runs),
        until_millis=max(run.at_millis for run in known.runs),
    )
    return Recommendation(
        group=move.group.name,
        changes=changes,
        why=_why(move, known),
        target=move.target,
        evidence=evidence,
        confidence=confidence,
        step=Step(
            factors=tuple(change.factor for change in changes),
            runs=min(runs.values()),
            regression=_worst_regression(step, known),
            confidence=confidence,
            errors=sum(run.errors for run in known.runs),
        ),
    )


def _worst_regression(step: _Effect, known: _History) -> float:
    """The largest share of its time that a cohort loses by the step, unless one has bad luck of one in a hundred."""
    reach = NormalDist().inv_cdf(_BAD_LUCK)
    millis: defaultdict[str, float] = defaultdict(float)
    for run in known.runs:
        millis[run.cohort] += run.duration_millis
    lost = (
        (reach * known.calibration.deviation(prices) - known.calibration.millis(prices)) / millis[cohort]
        for cohort, prices in step.by_cohort.items()
    )
    return max(0.0, max(lost, default=0.0))


def _faithfulness(runs: Sequence[Run]) -> float:
    """Share of the measured filters that let pass not much more than was expected: a gate trusts that expectation."""
    rates = [join.pass_rates for run in runs for join in run.joins if join.pass_rates is not None]
    faithful = sum(measured <= max(expected * _FAITHFUL, expected + 0.05) for expected, measured in rates)
    return faithful / len(rates) if rates else 0.0


def _why(move: _Move, known: _History) -> str:
    if move.group in GATES:
        return f"decided again, the logged joins take least with {move.group.what} x{move.target:.3g}"
    at = COEFFICIENTS.index(move.group)
    reach = NormalDist().inv_cdf((1 + _INTERVAL) / 2) * math.sqrt(known.calibration.covariance[at][at])
    scale = known.calibration.scales[at]
    return f"{move.group.what} took {scale:.2f} (+-{reach:.2f}) times what was predicted"


def _why_no_move(group: Group, known: _History, limits: Limits) -> str:
    if not _identified(group, known, limits):
        share = known.calibration.identified[COEFFICIENTS.index(group)]
        return f"not identified ({share:.0%}): no query shape was seen both with and without {group.what}"
    scale = known.calibration.scales[COEFFICIENTS.index(group)]
    return f"measured is {scale:.2f} times predicted: as it should be"
