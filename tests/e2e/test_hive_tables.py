"""Tables of a Hive metastore that Spark reads by their SerDe: half a minute, as the metastore starts slowly."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import aqe_plugin
from tests.extent import only_in_test_all

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

pytestmark = [pytest.mark.e2e, only_in_test_all]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("hive")
    builder = (
        SparkSession.builder.appName("hive")
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.warehouse.dir", (folder / "warehouse").as_uri())
        .config(
            "spark.hadoop.javax.jdo.option.ConnectionURL",
            f"jdbc:derby:;databaseName={folder / 'metastore'};create=true",
        )
        .config("spark.hadoop.hive.exec.dynamic.partition.mode", "nonstrict")
        .enableHiveSupport()
    )
    session = aqe_plugin.configure(builder, mode="apply").getOrCreate()
    session.conf.set("spark.aqePlugin.test.openGates", "true")
    # A day and an hour without a value have a partition of their own. No query reads `hour`: in ANSI mode, Spark fails
    # on that.
    session.sql("CREATE TABLE sold (item INT, amount INT) PARTITIONED BY (day STRING, hour INT) STORED AS TEXTFILE")
    session.sql(
        "INSERT INTO sold SELECT id % 100, id, IF(id % 5 = 0, NULL, concat('2026-01-0', id % 5)), "
        "IF(id % 7 = 0, NULL, id % 2) FROM range(2000) DISTRIBUTE BY id % 5"
    )
    session.sql(
        "CREATE TABLE items STORED AS TEXTFILE AS SELECT CAST(id AS INT) AS item, id % 20 AS kind FROM range(100)"
    )
    session.sql(
        "CREATE TABLE days STORED AS PARQUET AS "
        "SELECT concat('2026-01-0', id) AS day, id AS weekday FROM range(1, 5) "
        "UNION ALL SELECT '__HIVE_DEFAULT_PARTITION__', 2"
    )
    yield session
    session.stop()


def _both(spark: "SparkSession", query: str) -> "tuple[list[Row], Row]":
    """The rows, equal with and without the plugin, and the decision of the query's one join."""
    spark.conf.set("spark.aqePlugin.mode", "off")
    expected = spark.sql(query).collect()
    spark.conf.set("spark.aqePlugin.mode", "apply")
    frame = spark.sql(query)
    assert sorted(frame.collect()) == sorted(expected)
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    decision = spark.sql("SELECT * FROM aqe_decisions() ORDER BY execution_id DESC LIMIT 1").first()
    assert decision is not None
    return expected, decision


def test_keys_of_one_hive_table_drop_rows_at_the_scan_of_another(spark: "SparkSession") -> None:
    rows, decision = _both(spark, "SELECT day, amount FROM sold JOIN items USING (item) WHERE kind = 3")
    assert (len(rows), decision.filter_rows_in, decision.filter_rows_out) == (100, 2000, 100)


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("sold.day = days.day AND weekday = 2", 400),
        ("sold.day = days.day AND weekday = 2 AND sold.hour = 1", 171),
    ],
    ids=["all-partitions", "partitions-that-spark-selects"],
)
def test_partitions_of_a_hive_table_without_a_key_are_not_read(
    spark: "SparkSession", condition: str, count: int
) -> None:
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.enabled", "false")
    rows, decision = _both(spark, f"SELECT item, amount FROM sold JOIN days ON {condition}")
    assert (len(rows), decision.filter_rows_in) == (count, count)


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("sold.day <=> days.day WHERE weekday = 2", 2 * 400),
        ("sold.day >= days.day WHERE days.day >= '2026-01-03'", (1 + 2 + 3) * 400),
    ],
    ids=["keys", "a-predicate-that-follows"],
)
def test_rows_of_the_default_partition_have_its_name_and_stay(
    spark: "SparkSession", condition: str, count: int
) -> None:
    """As a rule, Spark leaves out the partition because a comparison needs a value."""
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.enabled", "false")
    spark.conf.set("spark.sql.constraintPropagation.enabled", "false")
    rows, _ = _both(spark, f"SELECT item, amount FROM sold JOIN days ON {condition}")
    assert len(rows) == count
