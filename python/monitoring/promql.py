"""PromQL over the exporter's metrics, in the few forms that the dashboards use.

Every selector has ``job="$job"``; ``$job``, ``$__rate_interval`` and ``$__range`` are filled in by Grafana.
"""

from __future__ import annotations

from aqe_plugin.exporter.metrics import Metric

__all__ = ["age", "count", "increase", "largest", "mean", "now", "per_second", "quantile", "ratio", "total"]

_OF_APPLICATION = 'job="$job", application="$application"'
_OF_JOB = 'job="$job"'


def now(metric: Metric) -> str:
    """A gauge as it is."""
    return f"sum({metric.name}{_selector(metric)})"


def age(metric: Metric) -> str:
    """Seconds since a gauge's time stamp; nothing while it has none."""
    return f"time() - max({metric.name}{_selector(metric)} > 0)"


def per_second(metric: Metric, *by: str) -> str:
    """A counter's rate, summed over every label but ``by``."""
    return f"sum{_by(by)}(rate({metric.name}{_selector(metric)}[$__rate_interval]))"


def largest(number: int, metric: Metric, by: str) -> str:
    """The values of the label ``by`` under which a counter grew most in the time that the dashboard shows."""
    return f"topk({number}, sum{_by((by,))}(increase({metric.name}{{{_OF_JOB}}}[$__range])))"


def total(metric: Metric, *by: str) -> str:
    """By how much a counter grew in the time that the dashboard shows."""
    return f"sum{_by(by)}(increase({metric.name}{_selector(metric)}[$__range]))"


def increase(metric: Metric, *by: str, suffix: str = "", only: str = "") -> str:
    """By how much a counter grew between two points of the graph.

    Args:
        suffix: ``_sum`` or ``_count`` of a histogram.
        only: a condition on labels, e.g. ``mode="apply"``.
    """
    return f"sum{_by(by)}(increase({metric.name}{suffix}{_selector(metric, only)}[$__rate_interval]))"


def count(histogram: Metric) -> str:
    """Observations of a histogram between two points of the graph, by bucket, for a heat map."""
    return f"sum by (le) (increase({histogram.name}_bucket{_selector(histogram)}[$__rate_interval]))"


def quantile(histogram: Metric, share: float) -> str:
    """The quantile ``share`` of the observations."""
    rate = f"rate({histogram.name}_bucket{_selector(histogram)}[$__rate_interval])"
    return f"histogram_quantile({share}, sum by (le) ({rate}))"


def mean(histogram: Metric) -> str:
    """The mean of the observations; no number while there are none."""
    selector = _selector(histogram)
    return ratio(
        f"sum(rate({histogram.name}_sum{selector}[$__rate_interval]))",
        f"sum(rate({histogram.name}_count{selector}[$__rate_interval]))",
    )


def ratio(part: str, whole: str) -> str:
    """``part`` divided by ``whole``; no number where ``whole`` is 0, rather than NaN."""
    return f"{part} / ({whole} > 0)"


def _selector(metric: Metric, only: str = "") -> str:
    conditions = (_OF_APPLICATION if metric.of_applications else _OF_JOB, only)
    return f"{{{', '.join(filter(None, conditions))}}}"


def _by(labels: tuple[str, ...]) -> str:
    return f" by ({', '.join(labels)}) " if labels else ""
