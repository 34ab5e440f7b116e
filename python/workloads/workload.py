"""The workloads that measurements choose from: queries, and the tables that they read."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workloads.skew import ensure_skew, skew_definition, skew_queries
from workloads.tpcds import Query, ensure_dataset, queries, tpcds_definition
from workloads.tpcds.partitioned import DATE_COLUMNS, ensure_partitioned, register_partitioned

Report = Callable[[str], None]
Register = Callable[[Any], None]


@dataclass(frozen=True)
class Workload:
    """Queries, and the tables that they read.

    Attributes:
        tables: what the tables are made from, as text: other text, other tables.
        ensure_tables: makes the missing tables; returns what makes each a temporary view of a `SparkSession`.
    """

    queries: Mapping[str, Query]
    tables: str
    ensure_tables: Callable[[Report], Register]


def workload(name: str, scale: float) -> Workload:
    """The workload of that name.

    Raises:
        KeyError: there is none; `WORKLOADS` has the names.
    """
    _, make = WORKLOADS[name]
    return make(scale)


def _tpcds(scale: float) -> Workload:
    return Workload(queries(), tpcds_definition(scale), lambda report: ensure_dataset(scale, report).register)


def _tpcds_by_date(scale: float) -> Workload:
    def ensure(report: Report) -> Register:
        dataset = ensure_dataset(scale, report)
        ensure_partitioned(dataset, report)
        return lambda spark: register_partitioned(dataset, spark)

    return Workload(queries(), tpcds_definition(scale) + json.dumps(dict(DATE_COLUMNS)), ensure)


def _skew(scale: float) -> Workload:
    folder = Path(__file__).resolve().parents[2] / ".build" / "skew"
    return Workload(skew_queries(), skew_definition(scale), lambda report: ensure_skew(scale, folder, report).register)


WORKLOADS: Mapping[str, tuple[str, Callable[[float], Workload]]] = MappingProxyType(
    {
        "skew": ("joins that estimates find hard", _skew),
        "tpcds": ("TPC-DS, tables as files", _tpcds),
        "tpcds-by-date": ("TPC-DS, fact tables partitioned by date", _tpcds_by_date),
    }
)
"""Name → what it is, and the workload of a scale."""
