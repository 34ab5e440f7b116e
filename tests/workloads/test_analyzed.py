"""Tables of a catalog have the statistics that `ANALYZE TABLE` gives their columns."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from workloads.analyzed import register_analyzed

pytestmark = pytest.mark.spark


def test_every_column_of_an_analyzed_table_has_statistics(tmp_path: Path) -> None:
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        folder = tmp_path / "it's a table"
        spark.range(10).selectExpr("id % 3 as few", "string(id) as many").write.parquet(str(folder))
        reports: list[str] = []
        register_analyzed(spark, {"analyzed": folder}, reports.append)
        assert reports == ["statistics of analyzed, table 1 of 1"]
        assert spark.table("analyzed").count() == 10
        for column, distinct in (("few", "3"), ("many", "10")):
            about = {
                row["info_name"]: row["info_value"] for row in spark.sql(f"desc extended analyzed {column}").collect()
            }
            assert about["distinct_count"] == distinct
    finally:
        spark.stop()


def test_a_partitioned_table_has_all_its_rows_and_the_statistics_of_them(tmp_path: Path) -> None:
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        folder = tmp_path / "sales"
        spark.range(12).selectExpr("id % 3 as day", "id").write.partitionBy("day").parquet(str(folder))
        register_analyzed(spark, {"sales_by_day": folder})
        assert spark.table("sales_by_day").count() == 12
        assert len(spark.sql("show partitions sales_by_day").collect()) == 3
        about = {row["info_name"]: row["info_value"] for row in spark.sql("desc extended sales_by_day id").collect()}
        assert about["distinct_count"] == "12"
    finally:
        spark.stop()
