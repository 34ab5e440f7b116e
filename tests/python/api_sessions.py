"""Two small tables, and what the Python interface must do with them in any kind of session."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from pyspark.sql import DataFrame, SparkSession

from aqe_plugin import AqePlugin
from aqe_plugin.errors import ConfError, NotAvailableError, StatementError
from aqe_plugin.events.model import Strategy

CONFS = {
    # Smaller than the tables, so that what is broadcast is decided while the query runs.
    "spark.sql.autoBroadcastJoinThreshold": "10k",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
}


def write_tables(spark: SparkSession, folder: Path) -> None:
    spark.range(400_000).selectExpr("id % 20000 AS item", "id AS amount").write.parquet(str(folder / "sales"))
    items = spark.range(20_000).selectExpr("id AS item", "concat('n', id) AS name", "id % 3 AS kind")
    items.write.parquet(str(folder / "items"))


def tables(spark: SparkSession, folder: Path) -> tuple[DataFrame, DataFrame]:
    """Sales, and the 200 of 20,000 items that a predicate without statistics leaves."""
    return (
        spark.read.parquet(str(folder / "sales")),
        spark.read.parquet(str(folder / "items")).where("name LIKE '%77'"),
    )


@pytest.fixture
def aqe(spark: SparkSession) -> AqePlugin:
    return AqePlugin(spark)


@pytest.fixture(scope="module")
def sales(spark: SparkSession, folder: Path) -> DataFrame:
    return tables(spark, folder)[0]


@pytest.fixture(scope="module")
def items(spark: SparkSession, folder: Path) -> DataFrame:
    return tables(spark, folder)[1]


@pytest.fixture
def plan_of(capsys: pytest.CaptureFixture[str]) -> Callable[[DataFrame], str]:
    def text(frame: DataFrame) -> str:
        frame.explain()
        return capsys.readouterr().out

    return text


class AnySession:
    """What holds in a classic session holds in one of Spark Connect; a module's fixtures say which it is."""

    def test_an_unknown_mode_of_a_session_is_refused(self, aqe: AqePlugin) -> None:
        with pytest.raises(ConfError, match="'APPLY' is not allowed: expected one of off, observe, apply"):
            aqe.mode = "APPLY"  # type: ignore[assignment]

    def test_an_analysis_has_the_decision_of_the_frames_own_query(
        self, aqe: AqePlugin, sales: DataFrame, items: DataFrame
    ) -> None:
        joined = sales.join(items, "item")
        joined.count()
        seen = aqe.analyze(joined.groupBy("kind").count())
        (query,) = seen.queries
        (decision,) = seen.decisions
        assert decision.facts.build.rows == 200
        assert decision.reason.code
        assert {option.strategy for option in decision.options} >= {decision.choice}
        assert query.ended is not None
        assert (query.ended.errors, query.ended.planned - query.ended.applied) == (0, 0)
        assert repr(seen).startswith("The frame was run once, its rows discarded.\n")
        assert re.search(r"<td[^>]*>inner join on[^<]*build side right: 200 rows", seen._repr_html_())

    def test_columns_of_one_name_can_be_analyzed(self, aqe: AqePlugin, sales: DataFrame, items: DataFrame) -> None:
        assert len(aqe.analyze(sales.join(items, sales["item"] == items["item"])).decisions) == 1

    def test_a_frame_without_joins_has_no_decisions(self, aqe: AqePlugin, sales: DataFrame) -> None:
        assert aqe.analyze(sales).queries == ()

    def test_a_comparison_proves_equal_rows_and_names_the_joins_that_changed(
        self, aqe: AqePlugin, spark: SparkSession, sales: DataFrame, items: DataFrame
    ) -> None:
        told: list[str] = []
        spark.conf.set("spark.aqePlugin.force", "*=filtered_sort_merge")
        try:
            found = aqe.compare(sales.join(items, "item"), runs=2, progress=told.append)
        finally:
            spark.conf.unset("spark.aqePlugin.force")
        assert (found.rows.verdict, found.rows.rows) == ("equal", 4000), repr(found)
        assert (len(found.off_seconds), len(found.apply_seconds), found.report) == (2, 2, "")
        assert [join.decision.facts.build.rows for join in found.changed] == [200]
        assert {query.mode for query in found.queries} == {"apply"}
        assert told[-1] == "Pair 2 of 2 ..."
        assert aqe.mode == "apply"
        assert "Rows equal: 4,000 rows" in found._repr_html_()

    @pytest.mark.parametrize(
        ("sql", "said"),
        [
            ("SELECT item, sum(amount / 3) FROM sales GROUP BY item ORDER BY item DESC", "in the order of item"),
            ("SELECT kind AS item FROM items ORDER BY items.item", "not by columns of the answer"),
            ("SELECT name, item FROM items WHERE kind = 1 ORDER BY item LIMIT 30", "in the order of item"),
            ("SELECT id FROM range(9) ORDER BY -id LIMIT 4", "not by columns of the answer"),
            ("SELECT item, kind % 2 AS item FROM items", "in any order"),
            (
                "SELECT map(item, name), array(item), named_struct('a', name), null, binary(name) FROM items",
                "any order",
            ),
            ("SELECT * FROM items WHERE item < 0", "no row, so little is proved"),
            ("WITH few AS (SELECT * FROM items LIMIT 20000) SELECT count(*) FROM few; -- the end", "1 row,"),
        ],
    )
    def test_each_kind_of_query_is_compared(
        self, aqe: AqePlugin, spark: SparkSession, folder: Path, sql: str, said: str
    ) -> None:
        for table in ("sales", "items"):
            spark.read.parquet(str(folder / table)).createOrReplaceTempView(table)
        found = aqe.compare(sql, runs=1)
        assert (found.rows.verdict, said in found.rows.found) == ("equal", True), found.rows.found

    def test_a_query_with_other_rows_in_each_run_is_no_fault(self, aqe: AqePlugin) -> None:
        found = aqe.compare("SELECT current_timestamp() AS at", runs=1)
        assert (found.rows.verdict, "Spark alone gives other rows in each run" in found.rows.found) == (
            "unsettled",
            True,
        )
        assert (len(found.apply_seconds), "== Physical Plan ==" in found.report) == (1, True)

    @pytest.mark.parametrize(
        ("sql", "why"),
        [
            ("CREATE TABLE never_made AS SELECT 1 AS a", "Only a query .* this is none: CREATE TABLE never_made"),
            ("INSERT INTO never_made SELECT 1", "Only a query .* this is none: INSERT INTO"),
            ("WITH a AS (SELECT 1) INSERT INTO never_made SELECT * FROM a", "Only a query .* this is none: WITH a"),
            ("DROP TABLE IF EXISTS never_made", "Only a query"),
            ("SELECT 1; SELECT 2", "One statement"),
            ("SELEKT 1", "cannot read the statement: .*SELEKT"),
            ("SELECT * FROM nowhere", "cannot analyze the query: .*nowhere"),
            ("SELECT raise_error('it was run')", "fails without the plugin: .*it was run"),
        ],
    )
    def test_what_cannot_be_compared_is_refused(self, aqe: AqePlugin, spark: SparkSession, sql: str, why: str) -> None:
        with pytest.raises(StatementError, match=why):
            aqe.compare(sql)
        assert not spark.catalog.tableExists("never_made")

    def test_nothing_is_compared_where_no_join_is_decided(self, aqe: AqePlugin, spark: SparkSession) -> None:
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        try:
            with pytest.raises(ConfError, match="nothing was run"):
                aqe.compare("SELECT raise_error('it was run')")
        finally:
            spark.conf.unset("spark.sql.adaptive.enabled")
        with pytest.raises(ConfError, match="runs = 0"):
            aqe.compare("SELECT 1", runs=0)
        with pytest.raises(TypeError, match="compare takes a DataFrame"):
            aqe.compare(7)  # type: ignore[arg-type]

    def test_with_the_mode_off_nothing_is_run(self, aqe: AqePlugin, sales: DataFrame) -> None:
        failing = sales.selectExpr("raise_error('it was run') AS failed")
        told = r"mode is off.*with aqe\.override\(mode='observe'\)"
        with aqe.override(mode="off"), pytest.raises(NotAvailableError, match=told):
            aqe.analyze(failing)

    def test_what_if_shows_what_other_thresholds_change(
        self, aqe: AqePlugin, spark: SparkSession, sales: DataFrame, items: DataFrame
    ) -> None:
        seen = aqe.analyze(sales.join(items, "item"))
        (same,) = aqe.what_if(seen, filter_min_probe_rows=aqe.thresholds.filter_min_probe_rows).joins
        assert same.is_replayed
        assert same.now == same.then == seen.decisions[0]
        with aqe.override(filter_min_probe_rows=0):
            answer = aqe.what_if(seen, broadcast_max_rows=10, cost_tie_ratio=0)
        (other,) = answer.joins
        limit = {one.strategy: one.reason for one in other.then.options}["broadcast"]
        assert (limit.code, limit.limit) == ("BROADCAST_ROWS", 10)
        assert spark.conf.get("spark.aqePlugin.broadcast.maxRows", None) is None

    def test_what_if_of_a_frame_runs_it_once(self, aqe: AqePlugin, sales: DataFrame, items: DataFrame) -> None:
        before = aqe.decisions().select("execution_id").distinct().count()
        answer = aqe.what_if(sales.join(items, "item"), broadcast_max_memory_bytes="1k")
        assert len(answer.joins) == 1
        assert aqe.decisions().select("execution_id").distinct().count() == before + 1
        assert "The frame was run once" in repr(answer)

    def test_metrics_count_the_query_that_has_just_ended(
        self, aqe: AqePlugin, sales: DataFrame, items: DataFrame
    ) -> None:
        before = aqe.metrics()
        sales.join(items, "item").groupBy("kind").count().collect()
        after = aqe.metrics()
        decided = [f"decisions.{strategy}" for strategy in get_args(Strategy)]
        assert sum(after[name] - before[name] for name in decided) == 1
        assert after["rules.millis"] >= before["rules.millis"]
        assert (after["errors"], after["filters.notApplied"]) == (0, 0)

    def test_the_latest_limits_and_predicates_are_tables(self, aqe: AqePlugin, sales: DataFrame) -> None:
        sales.limit(3).groupBy().count().collect()
        aqe.metrics()  # waits for the query's end
        assert [row["mode"] for row in aqe.limits().where("rows_wanted = 3").collect()] == ["apply"]
        assert "inferred_by" in aqe.predicates().columns

    def test_verify_runs_a_join_and_finds_a_bad_value(self, aqe: AqePlugin, spark: SparkSession) -> None:
        verified = aqe.check(run=True)
        assert verified.ok, repr(verified)
        assert [check.name for check in verified.checks] == ["mode", "rows", "deciding"]
        spark.conf.set("spark.aqePlugin.filter.maxPassRate", "7")
        try:
            checks = aqe.check(run=True).checks
        finally:
            spark.conf.unset("spark.aqePlugin.filter.maxPassRate")
        assert [check.found for check in checks if not check.ok] == ["7: not allowed: expected a number from 0 to 1"]
        assert [check.name for check in checks if check.verdict == "not run"] == ["rows", "deciding"]

    @pytest.mark.parametrize(
        ("key", "value"), [("spark.aqePlugin.filter.maxPassRate", "70%"), ("spark.sql.adaptive.enabled", "false")]
    )
    def test_a_conf_with_which_nothing_is_decided_is_named(
        self, aqe: AqePlugin, spark: SparkSession, sales: DataFrame, key: str, value: str
    ) -> None:
        failing = sales.selectExpr("raise_error('it was run') AS failed")
        before = spark.conf.get(key, None)
        spark.conf.set(key, value)
        try:
            assert [check.name for check in aqe.check().checks if not check.ok] == [key]
            named = pytest.raises(ConfError, match=f"{key} = {value}: .*nothing was run")
            with named:
                aqe.analyze(failing)
            with named:
                aqe.what_if(failing, broadcast_max_rows=10)
        finally:
            spark.conf.unset(key) if before is None else spark.conf.set(key, before)

    def test_a_key_that_the_plugin_ignores_is_named_and_joins_are_decided(
        self, aqe: AqePlugin, spark: SparkSession, sales: DataFrame, items: DataFrame
    ) -> None:
        typo = "spark.aqePlugin.filter.maxPasRate"
        spark.conf.set(typo, "0.5")
        try:
            verified, seen = aqe.check(run=True), aqe.analyze(sales.join(items, "item"))
        finally:
            spark.conf.unset(typo)
        assert [check.name for check in verified.checks if not check.ok] == [typo]
        assert [check.name for check in verified.checks] == ["mode", typo, "rows", "deciding"]
        assert len(seen.decisions) == 1
        assert f"{typo} = 0.5: unknown key, the plugin ignores it; did you mean" in seen.ran

    def test_a_key_that_is_read_when_the_application_starts_says_so(self, aqe: AqePlugin, spark: SparkSession) -> None:
        kept = "spark.aqePlugin.decisions.keptQueries"
        spark.conf.set(kept, "7")
        try:
            (check,) = (check for check in aqe.check().checks if check.name == kept)
        finally:
            spark.conf.unset(kept)
        assert check.found == "7, if set when the application started: it is read only then"

    def test_a_forced_choice_is_followed_with_the_same_rows(
        self, aqe: AqePlugin, sales: DataFrame, items: DataFrame
    ) -> None:
        def answer(frame: DataFrame) -> list[Any]:
            return sorted(frame.groupBy("kind").agg({"amount": "sum"}).collect())

        rows = answer(sales.join(items, "item"))
        with aqe.switch_off():
            assert answer(sales.join(items, "item")) == rows
        with aqe.force("plain_sort_merge"):
            (decision,) = aqe.analyze(sales.join(items, "item")).decisions
            assert decision.facts.spark_strategy == "plain_sort_merge"
            assert not decision.build_filter
            assert decision.choice in ("plain_sort_merge", "leave_to_spark")
            assert answer(sales.join(items, "item")) == rows
        hinted = sales.join(aqe.force("plain_sort_merge", items), "item")
        (decision,) = aqe.analyze(hinted).decisions
        assert (decision.reason.code, decision.facts.hint) == ("HINT", "merge")
        assert answer(hinted) == rows
        assert answer(sales.join(aqe.force("broadcast", items), "item")) == rows

    def test_a_forced_join_that_no_query_has_is_named(
        self, aqe: AqePlugin, spark: SparkSession, sales: DataFrame, items: DataFrame
    ) -> None:
        joined = sales.join(items, "item")
        (decision,) = aqe.analyze(joined).decisions
        key, known = "spark.aqePlugin.force", decision.facts.join_id
        told = []
        for value in (f"{known}=no_filter;gone=broadcast", f"{known}=no_filter;*=broadcast", f"{known}x=no_filter"):
            spark.conf.set(key, value)
            try:
                told.append(aqe.analyze(joined).ran)
            finally:
                spark.conf.unset(key)
        assert told[0].endswith(f"{key} names gone: no join with this id was decided. Ids that were decided: {known}.")
        assert key not in told[1]
        assert told[2].endswith(f"no join with this id was decided. Ids that were decided, the nearest first: {known}.")

    def test_what_if_says_that_a_join_is_forced(
        self, aqe: AqePlugin, spark: SparkSession, sales: DataFrame, items: DataFrame
    ) -> None:
        spark.conf.set("spark.aqePlugin.force", "*=no_filter")
        try:
            answer = aqe.what_if(sales.join(items, "item"), filter_max_pass_rate=1)
        finally:
            spark.conf.unset("spark.aqePlugin.force")
        (join,) = answer.joins
        assert (join.is_forced, join.is_replayed, answer.changed) == (True, False, ())
        shown = " ".join(repr(answer).split())
        assert "0 of 1 joins would change with spark.aqePlugin.filter.maxPassRate = 1; 1 cannot be replayed" in shown
        assert "spark.aqePlugin.force settles" in shown

    def test_a_hint_overrides_a_choice_forced_for_every_join(
        self, aqe: AqePlugin, sales: DataFrame, items: DataFrame, plan_of: Any
    ) -> None:
        with aqe.force("plain_sort_merge"):
            assert "BroadcastHashJoin" in plan_of(sales.join(items.hint("broadcast"), "item"))
            assert "SortMergeJoin" in plan_of(sales.join(items, "item"))
