"""Histories made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aqe_plugin.tuning.history import Application, Ended, Failure, Fault, QueryHistory
from aqe_plugin.tuning.runs import Run

__all__ = ["history"]


def history(*queries: Ended, applications: Mapping[str, Application] | None = None) -> QueryHistory:
    """The queries, with applications that started when their first query ended, are all alike and have ended.

    Args:
        applications: by name, those that are otherwise.
    """
    found: dict[str, Application] = {}
    for query in queries:
        one = found.get(query.application, Application(query.application, "nightly", "a = b", query.at_millis))
        found[query.application] = replace(one, started_millis=min(one.started_millis, query.at_millis))
    found |= applications or {}
    runs, failures, faults = (tuple(one for one in queries if isinstance(one, kind)) for kind in (Run, Failure, Fault))
    return QueryHistory(runs, failures, faults, tuple(found.values()))  # type: ignore[arg-type]
