"""From history to a recommendation: which group of thresholds to move, how far, and on what evidence.

The history is priced at coefficients that fit the runs (``run_scales``), then decided again at the present thresholds
and at those of a candidate: where the two decisions differ, the candidate saves the difference of those prices. The
candidates of a coefficient group are its measured scale and parts of it, those of a gate a ladder of factors. Only
joins of past runs count, groups move one at a time, and a step is bounded however far off the target is.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.quantities import quantity
from aqe_plugin.tuning.groups import COEFFICIENTS, GATES, Group, moved
from aqe_plugin.tuning.recommendation import Evidence, Finding, KeyChange, Limits, Recommendation, Risk
from aqe_plugin.tuning.replay import Replay, Replayed
from aqe_plugin.tuning.run_scales import Prices, RunPrices, largest_difference, prices_of, scales_of
from aqe_plugin.tuning.runs import Run, newest, without_outliers
from aqe_plugin.tuning.scales import Scales

# Rounding to three digits must not take a full step beyond its limit.
_ROUNDING = 1.005
_MIN_FACTOR = 1.05
_LADDER = (1 / 8, 1 / 4, 1 / 2, 1 / math.sqrt(2), math.sqrt(2), 2.0, 4.0, 8.0)
_INTERVAL = 0.90
_REGRESSION_QUANTILE = 0.99
_CLOSE_ESTIMATE = 1.5
# Of the logarithm of a factor: where the whole of it would harm a fingerprint, a part of it may not.
_SHARES = (1.0, 0.5, 0.25)
_NOTHING_CHANGES = "no logged decision would change"


@dataclass(frozen=True, slots=True)
class Step:
    """New ``values`` of keys of ``group``, without ``spark.aqePlugin.``; at least one."""

    group: Group
    values: Mapping[str, float]


# Less is no other way to run.
_LEAST_DIFFERENCE_MILLIS = 1.0


@dataclass(frozen=True, slots=True)
class _Known:
    """The runs that count, priced, decided at the present thresholds, and the scales of their prices."""

    runs: list[Run]
    thresholds: Mapping[str, float]
    prices: list[RunPrices]
    scales: Scales
    decided: list[tuple[Replayed, ...]]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Effect:
    """What thresholds change: prices saved by group in all, by fingerprint, and the runs with another decision."""

    prices: Prices
    by_fingerprint: Mapping[str, Prices]
    changed: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A target factor for a group, and the steps towards it that may be taken now, the largest first."""

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
    """A finding for each of ``groups``, in their order.

    Args:
        history: finished runs, in any order.
        thresholds: every tuned key's present value, as ``groups.current`` gives them.
    """
    runs = _that_count(history, limits)
    if not runs:
        return tuple(Finding(group.name, None, _too_few(limits)) for group in groups)
    known = _known(runs, thresholds, replay)
    candidates = {group: _candidates(group, known, limits) for group in groups}
    effects = _effects([one for found in candidates.values() for one in found], known, replay)
    return tuple(_finding(group, candidates[group], effects, known, limits) for group in groups)


def judge(
    history: Sequence[Run], thresholds: Mapping[str, float], change: Step, limits: Limits, replay: Replay
) -> Finding:
    """The finding about ``change``, which other runs have chosen; ``history`` says what it would do, not how far.

    Args:
        thresholds: as in :func:`recommend`.
    """
    runs = _that_count(history, limits)
    if not runs:
        return Finding(change.group.name, None, _too_few(limits))
    known = _known(runs, thresholds, replay)
    (decided,) = _decide(runs, [{**thresholds, **change.values}], replay)
    effect = _effect(decided, known)
    if effect.changed == 0:
        return Finding(change.group.name, None, _NOTHING_CHANGES)
    changes = tuple(KeyChange(PREFIX + key, thresholds[key], value) for key, value in change.values.items())
    candidate = _Candidate(change.group, changes[0].factor, (changes[0].factor,))
    return Finding(change.group.name, _recommendation(candidate, changes, effect, effect, known), "")


def _that_count(history: Sequence[Run], limits: Limits) -> list[Run]:
    return _costliest(_enough(newest(history, limits.max_runs), limits.min_runs), limits.max_joins)


def _too_few(limits: Limits) -> str:
    return f"no fingerprint with {limits.min_runs} runs, outliers not counted"


def _enough(runs: Sequence[Run], least: int) -> list[Run]:
    kept = without_outliers(runs)
    count = Counter(run.fingerprint for run in kept)
    return [run for run in kept if count[run.fingerprint] >= least]


def _costliest(runs: Sequence[Run], most_joins: int) -> list[Run]:
    """The runs of the fingerprints that take most time: as many as have ``most_joins`` joins, and at least one."""
    millis: Counter[str] = Counter()
    joins: Counter[str] = Counter()
    for run in runs:
        millis[run.fingerprint] += run.duration_millis
        joins[run.fingerprint] += len(run.joins)
    kept, total = set[str](), 0
    for fingerprint in sorted(millis, key=lambda one: (-millis[one], one)):
        total += joins[fingerprint]
        if kept and total > most_joins:
            break
        kept.add(fingerprint)
    return [run for run in runs if run.fingerprint in kept]


def _known(runs: list[Run], thresholds: Mapping[str, float], replay: Replay) -> _Known:
    prices = prices_of(runs, thresholds, replay)
    (decided,) = _decide(runs, [thresholds], replay)
    seconds = sum(run.duration_millis for run in runs) / 1000
    return _Known(runs, thresholds, prices, scales_of(runs, prices), decided, seconds)


def _decide(
    runs: Sequence[Run], thresholds: Sequence[Mapping[str, float]], replay: Replay
) -> list[list[tuple[Replayed, ...]]]:
    """For each of ``thresholds`` and each run, the decisions about its joins, from the facts before the run."""
    found = []
    for decisions in replay([join.facts for run in runs for join in run.joins], thresholds):
        rest = iter(decisions)
        found.append([tuple(next(rest) for _ in run.joins) for run in runs])
    return found


def _candidates(group: Group, known: _Known, limits: Limits) -> list[_Candidate]:
    if group in GATES:
        return [_Candidate(group, factor, _steps(factor, limits)) for factor in _LADDER]
    at = COEFFICIENTS.index(group)
    scale = known.scales.factors[at]
    far_enough = max(scale, 1 / scale) >= _MIN_FACTOR
    if not far_enough or not _identified(group, known, limits):
        return []
    # While other groups are off, going all the way to the right price of this one may do harm.
    return [_Candidate(group, scale**share, _steps(scale**share, limits)) for share in _SHARES]


def _identified(group: Group, known: _Known, limits: Limits) -> bool:
    return known.scales.identified[COEFFICIENTS.index(group)] >= limits.min_identified


def _steps(factor: float, limits: Limits) -> tuple[float, ...]:
    reach = max(1.0, limits.max_step / _ROUNDING)
    bounded = min(max(factor, 1 / reach), reach)
    return tuple(bounded**share for share in _SHARES)


def _effects(candidates: Sequence[_Candidate], known: _Known, replay: Replay) -> dict[tuple[str, float], _Effect]:
    """The effect of each factor that is a target or a step, by group and factor."""
    wanted = {(one.group.name, factor): one.group for one in candidates for factor in (one.target, *one.steps)}
    now = known.thresholds
    thresholds = [{**now, **moved(now, group, factor)} for (_, factor), group in wanted.items()]
    answers = _decide(known.runs, thresholds, replay) if thresholds else []
    return {key: _effect(decided, known) for key, decided in zip(wanted, answers, strict=True)}


def _effect(decided: Sequence[Sequence[Replayed]], known: _Known) -> _Effect:
    nothing = (0.0,) * len(COEFFICIENTS)
    by_fingerprint: defaultdict[str, Prices] = defaultdict(lambda: nothing)
    changed = 0
    for run, prices, before, after in zip(known.runs, known.prices, known.decided, decided, strict=True):
        saved = [
            _saved(priced, old.option, new.option)
            for priced, old, new in zip(prices, before, after, strict=True)
            if old.option != new.option
        ]
        if saved:
            changed += 1
            so_far = by_fingerprint[run.fingerprint]
            by_fingerprint[run.fingerprint] = tuple(map(math.fsum, zip(so_far, *saved, strict=True)))
    return _Effect(tuple(map(math.fsum, zip(nothing, *by_fingerprint.values(), strict=True))), by_fingerprint, changed)


def _saved(prices: Mapping[JoinOption, Prices], old: JoinOption | None, new: JoinOption | None) -> Prices:
    """The prices of one option less those of the other; nothing when one of them has none."""
    if old is None or new is None or old not in prices or new not in prices:
        return (0.0,) * len(COEFFICIENTS)
    return tuple(a - b for a, b in zip(prices[old], prices[new], strict=True))


def _finding(
    group: Group,
    candidates: Sequence[_Candidate],
    effects: Mapping[tuple[str, float], _Effect],
    known: _Known,
    limits: Limits,
) -> Finding:
    if not candidates:
        return Finding(group.name, None, _why_none(group, known, limits))

    # Of gates that save the same, the one nearest to the present value.
    def saved(candidate: _Candidate) -> tuple[float, float]:
        prices = effects[group.name, candidate.target].prices
        return round(known.scales.millis(prices), 3), -abs(math.log(candidate.target))

    candidate = max(candidates, key=saved)
    target = effects[group.name, candidate.target]
    if target.changed == 0:
        return Finding(group.name, None, _NOTHING_CHANGES)
    seconds, needed = known.scales.millis(target.prices) / 1000, limits.min_saving * known.seconds
    if seconds < needed:
        return Finding(
            group.name, None, f"would save {seconds:.3g} s of {known.seconds:.3g} s; a change must save {needed:.3g} s"
        )
    regressions = {factor: _worst_regression(effects[group.name, factor], known) for factor in candidate.steps}
    harmless = (factor for factor, regression in regressions.items() if regression <= limits.max_regression)
    step = next(harmless, candidate.steps[0])
    changes = tuple(
        KeyChange(PREFIX + key, known.thresholds[key], value)
        for key, value in moved(known.thresholds, group, step).items()
        if value != known.thresholds[key]
    )
    if not changes:
        return Finding(group.name, None, "at the end of the allowed range")
    return Finding(group.name, _recommendation(candidate, changes, target, effects[group.name, step], known), "")


def _recommendation(
    candidate: _Candidate, changes: tuple[KeyChange, ...], target: _Effect, step: _Effect, known: _Known
) -> Recommendation:
    mean, deviation = known.scales.millis(target.prices), known.scales.deviation(target.prices)
    confidence = NormalDist().cdf(mean / deviation) if deviation > 0 else 1.0
    if candidate.group in GATES:
        confidence *= _share_of_close_estimates(known.runs)
    reach = NormalDist().inv_cdf((1 + _INTERVAL) / 2) * deviation
    runs = Counter(run.fingerprint for run in known.runs)
    evidence = Evidence(
        queries=len(known.runs),
        fingerprints=len(runs),
        changed=target.changed,
        seconds=mean / 1000,
        low=(mean - reach) / 1000,
        high=(mean + reach) / 1000,
        seconds_now=known.scales.millis(step.prices) / 1000,
        since_millis=min(run.at_millis for run in known.runs),
        until_millis=max(run.at_millis for run in known.runs),
    )
    return Recommendation(
        group=candidate.group.name,
        changes=changes,
        why=_why(candidate, known),
        target=candidate.target,
        evidence=evidence,
        risk=Risk(runs=min(runs.values()), regression=_worst_regression(step, known), confidence=confidence),
    )


def _worst_regression(step: _Effect, known: _Known) -> float:
    """The largest share of its time that a fingerprint loses by the step, at the 99 % quantile."""
    reach = NormalDist().inv_cdf(_REGRESSION_QUANTILE)
    millis: defaultdict[str, float] = defaultdict(float)
    for run in known.runs:
        millis[run.fingerprint] += run.duration_millis
    lost = (
        (reach * known.scales.deviation(prices) - known.scales.millis(prices)) / millis[fingerprint]
        for fingerprint, prices in step.by_fingerprint.items()
    )
    return max(0.0, max(lost, default=0.0))


def _share_of_close_estimates(runs: Sequence[Run]) -> float:
    """Share of the measured filters that passed not much more rows than expected: a gate relies on that estimate."""
    rates = [join.pass_rates for run in runs for join in run.joins if join.pass_rates is not None]
    close = sum(measured <= max(expected * _CLOSE_ESTIMATE, expected + 0.05) for expected, measured in rates)
    return close / len(rates) if rates else 0.0


def _why(candidate: _Candidate, known: _Known) -> str:
    if candidate.group in GATES:
        return f"decided again, the logged joins take least with {candidate.group.what} x{candidate.target:.3g}"
    at = COEFFICIENTS.index(candidate.group)
    reach = NormalDist().inv_cdf((1 + _INTERVAL) / 2) * math.sqrt(known.scales.covariance[at][at])
    scale = known.scales.factors[at]
    return f"{candidate.group.what} took {scale:.2f} (+-{reach:.2f}) times what was predicted"


def _why_none(group: Group, known: _Known, limits: Limits) -> str:
    if not _identified(group, known, limits):
        at = COEFFICIENTS.index(group)
        unknown = f"not identified ({known.scales.identified[at]:.0%} of {limits.min_identified:.0%})"
        millis = largest_difference(known.runs, known.prices, at)
        if millis < _LEAST_DIFFERENCE_MILLIS:
            return f"{unknown}: no fingerprint was seen both with and without {group.what}"
        most = f"by at most {quantity(millis, 'millis')} of {group.what}"
        return f"{unknown}: runs of one fingerprint differ {most}, too little beside their noise"
    scale = known.scales.factors[COEFFICIENTS.index(group)]
    return f"measured is {scale:.2f} times predicted: no change"
