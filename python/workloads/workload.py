"""The workloads that measurements choose from: queries, and the tables that they read."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aqe_plugin.api.row_difference import Row
from workloads.analyzed import register_analyzed
from workloads.skew import TABLES as SKEW_TABLES
from workloads.skew import ensure_skew, skew_definition, skew_queries
from workloads.tpcds import Query, ensure_dataset, queries, reference_answer, tpcds_definition
from workloads.tpcds.data import dataset_folder
from workloads.tpcds.lake import LAKE_FORMATS, lake_folder, register_lake
from workloads.tpcds.partitioned import DATE_COLUMNS, ensure_partitioned, register_partitioned

_SKEW_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "skew"
_ANALYZED = "analyzed"

Report = Callable[[str], None]
Register = Callable[[Any], None]


@dataclass(frozen=True)
class Workload:
    """Queries, and the tables that they read.

    Attributes:
        tables: what the tables are made from, as text: other text, other tables.
        ensure_tables: makes the missing tables; returns what gives a `SparkSession` each of them under its name.
        confs: what that session must have from its start; raises `FileNotFoundError` if a jar is missing.
        reference: DuckDB's rows of a query over the same rows; None if there are none.
    """

    queries: Mapping[str, Query]
    tables: str
    ensure_tables: Callable[[Report], Register]
    confs: Callable[[], Mapping[str, str]] = dict
    reference: Callable[[Query], list[Row]] | None = None


def workload(name: str, scale: float) -> Workload:
    """The workload of that name.

    Raises:
        KeyError: there is none; `WORKLOADS` has the names.
    """
    _, make = WORKLOADS[name]
    return make(scale)


def _of_tpcds(
    scale: float,
    ensure: Callable[[Report], Register],
    layout: str = "",
    confs: Callable[[], Mapping[str, str]] = dict,
) -> Workload:
    def reference(query: Query) -> list[Row]:
        return reference_answer(ensure_dataset(scale), query.duckdb)

    return Workload(queries(), tpcds_definition(scale) + layout, ensure, confs, reference)


def _tpcds(scale: float) -> Workload:
    return _of_tpcds(scale, lambda report: ensure_dataset(scale, report).register)


def _tpcds_by_date(scale: float) -> Workload:
    def ensure(report: Report) -> Register:
        dataset = ensure_dataset(scale, report)
        ensure_partitioned(dataset, report)
        return lambda spark: register_partitioned(dataset, spark)

    return _of_tpcds(scale, ensure, json.dumps(dict(DATE_COLUMNS)))


def _tpcds_analyzed(scale: float) -> Workload:
    def ensure(report: Report) -> Register:
        dataset = ensure_dataset(scale, report)
        folders = {table: dataset.folder / table for table in dataset.rows}
        return lambda spark: register_analyzed(spark, folders, report)

    return _of_tpcds(scale, ensure, _ANALYZED)


def _tpcds_by_date_analyzed(scale: float) -> Workload:
    def ensure(report: Report) -> Register:
        dataset = ensure_dataset(scale, report)
        folders = {table: dataset.folder / table for table in dataset.rows} | ensure_partitioned(dataset, report)
        return lambda spark: register_analyzed(spark, folders, report)

    return _of_tpcds(scale, ensure, json.dumps(dict(DATE_COLUMNS)) + _ANALYZED)


def _tpcds_in(format_name: str, by_date: bool = False) -> Callable[[float], Workload]:
    lake = LAKE_FORMATS[format_name]

    def make(scale: float) -> Workload:
        def ensure(report: Report) -> Register:
            dataset = ensure_dataset(scale, report)
            return lambda spark: register_lake(dataset, lake, spark, report, by_date)

        folder = lake_folder(dataset_folder(scale), lake, by_date)
        return _of_tpcds(scale, ensure, folder.name, lambda: lake.session(folder))

    return make


def _skew(scale: float) -> Workload:
    return Workload(
        skew_queries(), skew_definition(scale), lambda report: ensure_skew(scale, _SKEW_FOLDER, report).register
    )


def _skew_analyzed(scale: float) -> Workload:
    def ensure(report: Report) -> Register:
        data = ensure_skew(scale, _SKEW_FOLDER, report)
        return lambda spark: register_analyzed(spark, {table: data.folder / table for table in SKEW_TABLES}, report)

    return Workload(skew_queries(), skew_definition(scale) + _ANALYZED, ensure)


WORKLOADS: Mapping[str, tuple[str, Callable[[float], Workload]]] = MappingProxyType(
    {
        "skew": ("joins that estimates find hard", _skew),
        "skew-analyzed": ("the same tables in a catalog, with statistics of all columns", _skew_analyzed),
        "tpcds": ("TPC-DS, tables as files", _tpcds),
        "tpcds-analyzed": ("TPC-DS, tables in a catalog, with statistics of all columns", _tpcds_analyzed),
        "tpcds-by-date": ("TPC-DS, fact tables partitioned by date", _tpcds_by_date),
        "tpcds-by-date-analyzed": (
            "TPC-DS, tables in a catalog, fact tables partitioned by date, with statistics of all columns",
            _tpcds_by_date_analyzed,
        ),
        "tpcds-delta": ("TPC-DS, tables of Delta", _tpcds_in("delta")),
        "tpcds-delta-by-date": (
            "TPC-DS, tables of Delta, fact tables sorted by date",
            _tpcds_in("delta", by_date=True),
        ),
        "tpcds-iceberg": ("TPC-DS, tables of Iceberg", _tpcds_in("iceberg")),
        "tpcds-iceberg-by-date": (
            "TPC-DS, tables of Iceberg, fact tables sorted by date",
            _tpcds_in("iceberg", by_date=True),
        ),
    }
)
"""Name → what it is, and the workload of a scale."""
