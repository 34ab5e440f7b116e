"""The workloads that measurements choose from: queries, and the tables that they read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workloads.skew import ensure_skew, skew_queries
from workloads.tpcds import Query, ensure_dataset, queries
from workloads.tpcds.partitioned import ensure_partitioned, register_partitioned

Report = Callable[[str], None]


@dataclass(frozen=True)
class Workload:
    """Queries over tables that are on disk.

    Attributes:
        register: makes every table a temporary view of a `SparkSession`.
    """

    queries: Mapping[str, Query]
    register: Callable[[Any], None]


def workload(name: str, scale: float, report: Report = lambda _: None) -> Workload:
    """The workload of that name, whose missing tables are made.

    Raises:
        KeyError: there is none; `WORKLOADS` has the names.
    """
    _, make = WORKLOADS[name]
    return make(scale, report)


def _tpcds(scale: float, report: Report) -> Workload:
    return Workload(queries(), ensure_dataset(scale, report).register)


def _tpcds_by_date(scale: float, report: Report) -> Workload:
    dataset = ensure_dataset(scale, report)
    ensure_partitioned(dataset, report)
    return Workload(queries(), lambda spark: register_partitioned(dataset, spark))


def _skew(scale: float, report: Report) -> Workload:
    folder = Path(__file__).resolve().parents[2] / ".build" / "skew"
    return Workload(skew_queries(), ensure_skew(scale, folder, report).register)


WORKLOADS: Mapping[str, tuple[str, Callable[[float, Report], Workload]]] = MappingProxyType(
    {
        "skew": ("joins that estimates find hard", _skew),
        "tpcds": ("TPC-DS, tables as files", _tpcds),
        "tpcds-by-date": ("TPC-DS, fact tables partitioned by date", _tpcds_by_date),
    }
)
"""Name → what it is, and how it is made."""
