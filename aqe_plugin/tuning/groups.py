"""The thresholds that are tuned, in groups that move together, and how far one step goes.

Each group's coefficients price one kind of work, so outcomes determine one factor for all of them: two coefficients of
the same rows are never observed apart. The docstring of the package says which thresholds are not tuned, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from aqe_plugin.conf.keys import PREFIX, conf_keys, number_of

_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Group:
    """Conf keys, without ``spark.aqePlugin.``, that are multiplied by one factor; ``what`` describes their work."""

    name: str
    keys: tuple[str, ...]
    what: str


COEFFICIENTS = (
    Group("shuffle", ("cost.shuffleNanosPerByte", "cost.shuffleNanosPerRow"), "shuffling rows"),
    Group("sort-merge", ("cost.sortNanosPerComparison", "cost.mergeNanosPerRow"), "sorting and merging rows"),
    Group(
        "broadcast",
        (
            "cost.collectNanosPerByte",
            "cost.hashBuildNanosPerRow",
            "cost.broadcastNanosPerByte",
            "cost.hashProbeNanosPerRow",
            "cost.hashMissNanosPerRow",
        ),
        "making and probing a hash table",
    ),
    Group(
        "filter",
        (
            "cost.filterBuildNanosPerRow",
            "cost.filterCheckNanosPerRow",
            "cost.filterHashNanosPerColumn",
            "cost.filterMissNanosPerRow",
        ),
        "building and checking a filter",
    ),
    Group("pipeline", ("cost.rowPipelineNanosPerRow",), "a row's way from its scan to its join"),
    Group("launch", ("cost.jobLaunchNanos",), "starting a job or stage"),
)

GATES = (
    Group("pass-rate gate", ("filter.maxPassRate",), "the pass rate up to which a filter is considered"),
    Group("probe-rows gate", ("filter.minProbeRows",), "the probe rows from which a filter is considered"),
)

# What an engine's prices are multiplied by.
_ENGINE_RATIOS = ("cost.engineRatio", "cost.engineFilterRatio")

# With these every possible option has a price, whether or not it would be considered.
ALL_OPEN: Mapping[str, float] = MappingProxyType(
    {
        "filter.maxPassRate": 1.0,
        "filter.minProbeRows": 0.0,
        "broadcast.maxMemoryBytes": 8.0 * 1024**3,
        "broadcast.maxRows": 512_000_000.0,
        "shuffledHash.maxShare": 1.0,
    }
)


def group_named(name: str) -> Group:
    """One of the groups above."""
    return next(group for group in (*COEFFICIENTS, *GATES) if group.name == name)


def current(conf: Mapping[str, str]) -> dict[str, float]:
    """The value of every tuned key in ``conf``, else its default; a value that is not allowed counts as not set."""
    return {key: value_of(conf, PREFIX + key) for group in (*COEFFICIENTS, *GATES) for key in group.keys}


def moved(thresholds: Mapping[str, float], group: Group, factor: float) -> dict[str, float]:
    """The keys of ``group`` times ``factor``, rounded to 3 digits and within what is allowed; 0 stays 0."""
    return {key: _moved(PREFIX + key, thresholds[key] * factor) for key in group.keys}


def alone(thresholds: Mapping[str, float], group: Group) -> dict[str, float]:
    """Thresholds under which a price consists of the contribution of ``group``: every other coefficient is 0."""
    zero = {key: 0.0 for other in COEFFICIENTS for key in other.keys if other is not group}
    ratios = {key: thresholds[key] for key in _ENGINE_RATIOS if key in thresholds}
    reading = {"cost.scanNanosPerByte": 0.0, "cost.fileOpenNanos": 0.0}
    return {**reading, **zero, **{key: thresholds[key] for key in group.keys}, **ratios, **ALL_OPEN}


def written(key: str, value: float) -> str:
    """``value`` as a conf would write it for ``key``, which is a whole key of the plugin."""
    return str(round(value)) if conf_keys()[key].type == "integer" else f"{value:.10g}"


def value_of(conf: Mapping[str, str], key: str) -> float:
    """The value of ``key``, a whole key of the plugin, in ``conf``, else its default."""
    written = number_of(key, conf.get(key, ""))
    default = number_of(key, conf_keys()[key].default)
    return written if written is not None else default if default is not None else 0.0


def _moved(key: str, value: float) -> float:
    low, high = conf_keys()[key].limits
    rounded = float(f"{value:.{_DIGITS}g}")
    whole = float(round(rounded)) if conf_keys()[key].type == "integer" else rounded
    return min(max(whole, low), high)
