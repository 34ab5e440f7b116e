"""The panels to watch, which Grafana and ``monitoring.worth_page`` draw alike."""

from __future__ import annotations

from aqe_plugin.exporter import metrics
from monitoring import promql
from monitoring.grafana import Panel, Query, Row
from monitoring.panels import graph

__all__ = ["IS_IT_WORTH_IT"]

_FOR_NOTHING = 'outcome=~"unused|released"'


def _saved(mode: str) -> str:
    only = f'mode="{mode}"'
    return f"{promql.increase(metrics.SAVED, only=only)} - {promql.increase(metrics.LOST, only=only)}"


IS_IT_WORTH_IT = Row(
    "Is it worth it",
    (
        graph(
            "Is it at work?",
            "Queries that were planned with the plugin, and their joins. None while jobs run: AqePluginSilent.",
            Query(promql.increase(metrics.QUERIES), "queries"),
            Query(promql.increase(metrics.DECISIONS), "joins decided"),
        ),
        graph(
            "Rows that filters removed",
            "Their share of the rows that came to filters; those that a paused filter did not check passed.",
            Query(
                promql.ratio(
                    f"({promql.increase(metrics.ROWS_IN)} - {promql.increase(metrics.ROWS_OUT)})",
                    f"({promql.increase(metrics.ROWS_IN)} + {promql.increase(metrics.ROWS_UNCHECKED)})",
                ),
                "removed",
            ),
            unit="percentunit",
        ),
        Panel(
            "Time saved, and what it cost",
            "Saved and lost are by price, at measured pass rates. Waits that are not listed were of use.",
            (
                Query(_saved("apply"), "saved less lost"),
                Query(_saved("observe"), "would be saved, in mode observe"),
                Query(promql.increase(metrics.RULE_SECONDS, suffix="_sum"), "in the plugin's rules"),
                Query(promql.increase(metrics.WAITED, only=_FOR_NOTHING), "waited for nothing"),
            ),
            "s",
            signed=True,
        ),
        graph(
            "Is it healthy?",
            "Faults of the plugin, and filters that their scans did not find. Above 0: see the alerts' runbook.",
            Query(promql.increase(metrics.ERRORS), "faults"),
            Query(promql.increase(metrics.FILTERS_NOT_APPLIED), "filters not applied"),
            width=12,
            bad_above=0,
        ),
        graph(
            "Are these figures fresh?",
            "How long ago the exporter read the event logs to their end.",
            Query(promql.age(metrics.LAST_READ), "since the last read"),
            unit="s",
            width=12,
            bad_above=900,
        ),
    ),
)
