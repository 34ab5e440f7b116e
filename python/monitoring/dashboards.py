"""The four dashboards: what the whole fleet does, one application, whether decisions were right, and what to tune."""

from __future__ import annotations

from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.metrics import Metric
from monitoring import promql
from monitoring.grafana import Dashboard, Kind, Panel, Query, Row

__all__ = ["DASHBOARDS"]


def _quantiles(histogram: Metric) -> tuple[Query, ...]:
    return tuple(Query(promql.quantile(histogram, share), f"p{share * 100:.0f}") for share in (0.5, 0.95, 0.99))


def _stat(title: str, text: str, query: str, unit: str = "short", bad_above: float | None = None) -> Panel:
    return Panel(title, text, (Query(query),), unit, Kind.STAT, width=4, bad_above=bad_above)


def _removed(rows_in: str, rows_out: str) -> str:
    return promql.ratio(f"({rows_in} - {rows_out})", rows_in)


FLEET = Dashboard(
    uid="aqe-plugin-fleet",
    title="aqe-plugin / Fleet",
    text="Is the plugin at work everywhere, what does it do, and what does it cost?",
    job_metric=metrics.QUERIES.name,
    rows=(
        Row(
            "In the time shown",
            (
                _stat(
                    "Applications",
                    "Applications that began to write an event log.",
                    promql.total(metrics.APPLICATIONS),
                ),
                _stat("Queries", "Queries with at least one decided join.", promql.total(metrics.QUERIES)),
                _stat("Joins decided", "All joins, whatever was chosen.", promql.total(metrics.DECISIONS)),
                _stat(
                    "Rows dropped in scans",
                    "Rows that filters kept from being shuffled.",
                    f"{promql.total(metrics.ROWS_IN)} - {promql.total(metrics.ROWS_OUT)}",
                ),
                _stat(
                    "Faults",
                    "Errors of the plugin and filters that were not applied. Above 0: see the alerts' runbook.",
                    f"{promql.total(metrics.ERRORS)} + {promql.total(metrics.FILTERS_NOT_APPLIED)}",
                    bad_above=0,
                ),
                _stat(
                    "Last read",
                    "How long ago the exporter read the folder to its end.",
                    promql.age(metrics.LAST_READ),
                    "s",
                    bad_above=600,
                ),
            ),
        ),
        Row(
            "What is decided",
            (
                Panel(
                    "Joins by choice",
                    "leave_to_spark: nothing to decide, or a reason against it.",
                    (Query(promql.per_second(metrics.DECISIONS, "choice"), "{{choice}}"),),
                    "ops",
                    stacked=True,
                ),
                Panel(
                    "Joins by mode",
                    "observe decides and changes nothing.",
                    (Query(promql.per_second(metrics.DECISIONS, "mode"), "{{mode}}"),),
                    "ops",
                    stacked=True,
                ),
                Panel(
                    "Applications by query time",
                    "Where the time is, and so where a decision matters most.",
                    (
                        Query(
                            promql.largest(10, metrics.APPLICATION_QUERY_SECONDS, "application"),
                            "{{application}}",
                        ),
                    ),
                    "s",
                    Kind.BARS,
                ),
            ),
        ),
        Row(
            "Filters",
            (
                Panel(
                    "Rows checked and let through",
                    "The gap between the lines is what was not shuffled.",
                    (
                        Query(promql.per_second(metrics.ROWS_IN), "checked"),
                        Query(promql.per_second(metrics.ROWS_OUT), "let through"),
                    ),
                    "ops",
                ),
                Panel(
                    "Filters by kind",
                    "missing is a fault, pass_all a filter that could not be built.",
                    (Query(promql.increase(metrics.FILTERS, "kind"), "{{kind}}"),),
                    stacked=True,
                ),
                Panel(
                    "Filters that could not be built",
                    "By reason; scans waited for nothing.",
                    (Query(promql.increase(metrics.PASS_ALL, "reason"), "{{reason}}"),),
                    stacked=True,
                ),
            ),
        ),
        Row(
            "Time",
            (
                Panel(
                    "Queries",
                    "Wall time of queries with decided joins.",
                    _quantiles(metrics.QUERY_SECONDS),
                    "s",
                ),
                Panel(
                    "Waits", "From a plan's start until a scan had its filter.", _quantiles(metrics.WAIT_SECONDS), "s"
                ),
                Panel(
                    "The plugin's own rules",
                    "Their share of the queries' time; more than 5 % raises an alert.",
                    (
                        Query(
                            promql.ratio(
                                f'sum(rate({metrics.RULE_SECONDS.name}_sum{{job="$job"}}[$__rate_interval]))',
                                f'sum(rate({metrics.QUERY_SECONDS.name}_sum{{job="$job"}}[$__rate_interval]))',
                            ),
                            "share of query time",
                        ),
                    ),
                    "percentunit",
                    bad_above=0.05,
                ),
            ),
        ),
        Row(
            "Exporter",
            (
                Panel("Event log files", "Files read so far.", (Query(promql.now(metrics.FILES), "files"),), width=6),
                Panel(
                    "Not usable",
                    "Lines and files skipped, and times the folder could not be read.",
                    (
                        Query(promql.increase(metrics.SKIPPED), "skipped"),
                        Query(promql.increase(metrics.READ_ERRORS), "folder unreadable"),
                    ),
                    width=6,
                ),
                Panel(
                    "Memory",
                    "Resident memory of the exporter.",
                    (Query('sum(process_resident_memory_bytes{job="$job"})', "resident"),),
                    "bytes",
                    width=6,
                ),
                Panel(
                    "Scrapes",
                    "A scrape reads what was written since the last one; its limit is the scrape timeout.",
                    (Query('max(scrape_duration_seconds{job="$job"})', "time of a scrape"),),
                    "s",
                    width=6,
                ),
            ),
        ),
    ),
)

APPLICATION = Dashboard(
    uid="aqe-plugin-application",
    title="aqe-plugin / One application",
    text="What the plugin did in the queries of one application, all of its runs together.",
    job_metric=metrics.QUERIES.name,
    application_metric=metrics.APPLICATION_QUERIES.name,
    rows=(
        Row(
            "In the time shown",
            (
                _stat("Queries", "Queries that ended.", promql.total(metrics.APPLICATION_QUERIES)),
                _stat("Query time", "Their wall time, added up.", promql.total(metrics.APPLICATION_QUERY_SECONDS), "s"),
                _stat("Joins decided", "All its joins.", promql.total(metrics.APPLICATION_DECISIONS)),
                _stat(
                    "Share of rows dropped",
                    "Of the rows that filters checked.",
                    _removed(promql.total(metrics.APPLICATION_ROWS_IN), promql.total(metrics.APPLICATION_ROWS_OUT)),
                    "percentunit",
                ),
                _stat("Errors", "Faults of the plugin.", promql.total(metrics.APPLICATION_ERRORS), bad_above=0),
                _stat(
                    "Not applied",
                    "Filters that were planned and not found by their scan.",
                    promql.total(metrics.APPLICATION_NOT_APPLIED),
                    bad_above=0,
                ),
            ),
        ),
        Row(
            "Over time",
            (
                Panel(
                    "Mean time of a query",
                    "Compare with the time before a change of the conf: aqe-plugin history tells when that was.",
                    (
                        Query(
                            promql.ratio(
                                promql.per_second(metrics.APPLICATION_QUERY_SECONDS),
                                promql.per_second(metrics.APPLICATION_QUERIES),
                            ),
                            "query",
                        ),
                        Query(
                            promql.ratio(
                                promql.per_second(metrics.APPLICATION_RULE_SECONDS),
                                promql.per_second(metrics.APPLICATION_QUERIES),
                            ),
                            "of it in the plugin's rules",
                        ),
                    ),
                    "s",
                    width=12,
                ),
                Panel(
                    "Joins by choice",
                    "A change here without a change of conf or data is worth a look.",
                    (Query(promql.increase(metrics.APPLICATION_DECISIONS, "choice"), "{{choice}}"),),
                    width=12,
                    stacked=True,
                ),
                Panel(
                    "Rows checked and let through",
                    "By this application's filters.",
                    (
                        Query(promql.per_second(metrics.APPLICATION_ROWS_IN), "checked"),
                        Query(promql.per_second(metrics.APPLICATION_ROWS_OUT), "let through"),
                    ),
                    "ops",
                    width=12,
                ),
                Panel(
                    "Waits per query",
                    "All scans of a query added up: they wait at the same time.",
                    (
                        Query(
                            promql.ratio(
                                promql.per_second(metrics.APPLICATION_WAIT_SECONDS),
                                promql.per_second(metrics.APPLICATION_QUERIES),
                            ),
                            "waited",
                        ),
                    ),
                    "s",
                    width=12,
                ),
            ),
        ),
    ),
)

QUALITY = Dashboard(
    uid="aqe-plugin-quality",
    title="aqe-plugin / Decision quality",
    text="Was it right? What was predicted against what was measured.",
    job_metric=metrics.QUERIES.name,
    rows=(
        Row(
            "Pass rates of filters that ran",
            (
                Panel(
                    "Predicted and measured",
                    "Mean share of rows let through. A lasting gap is a bias of the estimates.",
                    (
                        Query(promql.mean(metrics.PREDICTED_PASS), "predicted"),
                        Query(promql.mean(metrics.MEASURED_PASS), "measured"),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Error of the prediction",
                    "Without its sign. A mean above 0.3 raises an alert.",
                    (Query(promql.mean(metrics.PASS_ERROR), "mean"), *_quantiles(metrics.PASS_ERROR)),
                    "percentunit",
                ),
                Panel(
                    "Measured pass rates",
                    "Filters by the share of rows they let through: the upper ones hardly paid.",
                    (Query(promql.count(metrics.MEASURED_PASS)),),
                    "percentunit",
                    Kind.HEATMAP,
                ),
            ),
        ),
        Row(
            "Reasons",
            (
                Panel(
                    "Of the choice",
                    "docs/how-it-decides.md has an example of each code.",
                    (Query(promql.total(metrics.DECISIONS, "choice", "reason"), "{{choice}} {{reason}}"),),
                    kind=Kind.BARS,
                ),
                Panel(
                    "For and against a filter",
                    "yes: built; no: refused, with the code of why.",
                    (Query(promql.total(metrics.FILTER_DECISIONS, "filter", "reason"), "{{filter}} {{reason}}"),),
                    kind=Kind.BARS,
                ),
                Panel(
                    "For and against a wait",
                    "Whether the probe side was held back until the build side was done.",
                    (Query(promql.total(metrics.WAIT_DECISIONS, "waits", "reason"), "{{waits}} {{reason}}"),),
                    kind=Kind.BARS,
                ),
            ),
        ),
        Row(
            "Faults",
            (
                Panel(
                    "Planned and applied",
                    "The lines must lie on each other.",
                    (
                        Query(promql.increase(metrics.FILTERS_PLANNED), "planned"),
                        Query(promql.increase(metrics.FILTERS_APPLIED), "applied"),
                        Query(promql.increase(metrics.FILTERS_NOT_APPLIED), "not applied"),
                    ),
                    width=12,
                ),
                Panel(
                    "Errors of the plugin",
                    "After each of them Spark's own plan ran.",
                    (Query(promql.increase(metrics.ERRORS), "errors"),),
                    width=12,
                    bad_above=0,
                ),
            ),
        ),
    ),
)

TUNING = Dashboard(
    uid="aqe-plugin-tuning",
    title="aqe-plugin / Tuning",
    text="Which limit holds the plugin back, or lets too much through? Panels name the conf key they speak for.",
    job_metric=metrics.QUERIES.name,
    rows=(
        Row(
            "Waits: wait.savingShare, wait.maxIdle",
            (
                Panel(
                    "Predicted saving against predicted idling",
                    "Seconds per second, of the waits that were made. Close to each other: waits pay barely.",
                    (
                        Query(promql.per_second(metrics.WAIT_SAVING), "saving"),
                        Query(promql.per_second(metrics.WAIT_IDLE), "idling"),
                    ),
                    "s",
                ),
                Panel(
                    "Waits as they were",
                    "Scans by how long they waited. Many beyond wait.maxIdle: idling is underestimated.",
                    (Query(promql.count(metrics.WAIT_SECONDS)),),
                    "s",
                    Kind.HEATMAP,
                ),
                Panel(
                    "Waits by reason",
                    "WAIT_TOO_LONG moves with wait.maxIdle, NOT_WORTH_WAITING with wait.savingShare.",
                    (Query(promql.increase(metrics.WAIT_DECISIONS, "waits", "reason"), "{{waits}} {{reason}}"),),
                    stacked=True,
                ),
            ),
        ),
        Row(
            "Filters: filter.maxPassRate, filter.maxBytes, filter.buildTimeout",
            (
                Panel(
                    "Measured pass rate",
                    "Far below filter.maxPassRate at p95: the limit could be lower, so that fewer scans wait.",
                    _quantiles(metrics.MEASURED_PASS),
                    "percentunit",
                    width=6,
                ),
                Panel(
                    "Mean size of a filter",
                    "By kind, against filter.maxBytes.",
                    (
                        Query(
                            promql.ratio(
                                promql.per_second(metrics.FILTER_BYTES, "kind"),
                                promql.per_second(metrics.FILTERS, "kind"),
                            ),
                            "{{kind}}",
                        ),
                    ),
                    "bytes",
                    width=6,
                ),
                Panel(
                    "Time to build",
                    "Against filter.buildTimeout.",
                    _quantiles(metrics.BUILD_SECONDS),
                    "s",
                    width=6,
                ),
                Panel(
                    "Batches not checked",
                    "Batches that passed unchecked while a filter rested, as it had removed too little.",
                    (Query(promql.per_second(metrics.BATCHES_SKIPPED), "batches"),),
                    "ops",
                    width=6,
                ),
            ),
        ),
        Row(
            "Choices: broadcast.*, cost.*",
            (
                Panel(
                    "Reasons of the choice",
                    "BROADCAST_MEMORY and BROADCAST_ROWS move with the limits called so, TIE with cost.tieRatio.",
                    (Query(promql.increase(metrics.DECISIONS, "reason"), "{{reason}}"),),
                    width=12,
                    stacked=True,
                ),
                Panel(
                    "Reasons against filters",
                    "PASS_RATE_TOO_HIGH moves with filter.maxPassRate, FILTER_TOO_BIG with filter.maxBytes.",
                    (Query(promql.increase(metrics.FILTER_DECISIONS, "filter", "reason"), "{{filter}} {{reason}}"),),
                    width=12,
                    stacked=True,
                ),
            ),
        ),
    ),
)

DASHBOARDS = (FLEET, APPLICATION, QUALITY, TUNING)
