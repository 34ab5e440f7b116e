"""TPC-DS on this machine: data, query texts for Spark, and reference answers, all from DuckDB's `tpcds` extension.

Nothing is fetched at run time: the extension comes from the wheel `duckdb-extension-tpcds`.
"""

from workloads.tpcds.answers import against_duckdb, reference_answer
from workloads.tpcds.data import TABLES, Dataset, ensure_dataset, tpcds_definition
from workloads.tpcds.queries import Query, queries
from workloads.tpcds.reduced import REDUCTIONS, ensure_reduced, semi_joined

__all__ = [
    "REDUCTIONS",
    "TABLES",
    "Dataset",
    "Query",
    "against_duckdb",
    "ensure_dataset",
    "ensure_reduced",
    "queries",
    "reference_answer",
    "semi_joined",
    "tpcds_definition",
]
