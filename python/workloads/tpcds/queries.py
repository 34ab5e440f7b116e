"""The 99 TPC-DS queries and their four variants (q14b, q23a, q24b, q39b), as Spark and as DuckDB read them."""

import re
from dataclasses import dataclass

from workloads.tpcds.data import TABLES
from workloads.tpcds.extension import connect
from workloads.tpcds.variants import variants_of


@dataclass(frozen=True)
class Query:
    """One query text in both dialects.

    Attributes:
        name: `q1` … `q99`; queries with a variant carry a letter (`q14a`, `q14b`).
        duckdb: DuckDB's own text.
        spark: the same for Spark: double-quoted names become back-ticked, no closing semicolon.
    """

    name: str
    duckdb: str
    spark: str

    @property
    def number(self) -> int:
        return int(re.sub(r"\D", "", self.name))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the text names."""
        words = set(re.findall(r"\w+", self.duckdb.lower()))
        return tuple(table for table in TABLES if table in words)

    @property
    def duckdb_unlimited(self) -> str:
        """DuckDB's text without the outermost LIMIT: every row that some order of ties could have let through."""
        return re.sub(r"\blimit\s+\d+\s*$", "", self.duckdb, flags=re.IGNORECASE)


def queries() -> dict[str, Query]:
    """All 103 by name, in the benchmark's order."""
    connection = connect()
    try:
        texts = connection.execute("select query_nr, query from tpcds_queries() order by query_nr").fetchall()
    finally:
        connection.close()
    named = [pair for number, text in texts for pair in variants_of(int(number), _bare(text))]
    return {name: Query(name, text, _for_spark(text)) for name, text in named}


def _bare(text: str) -> str:
    return text.strip().rstrip(";").strip()


def _for_spark(text: str) -> str:
    return re.sub(r'"([^"]*)"', r"`\1`", text)
