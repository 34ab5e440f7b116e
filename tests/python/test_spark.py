"""The plugin in real sessions: loaded by ``configure``, its events read back, its decision replayed.

One session serves the whole module.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

import aqe_plugin
from aqe_plugin.conf.keys import PLUGIN_CLASS
from aqe_plugin.events.describe import reason_meanings
from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.json_values import encode
from aqe_plugin.events.lines import parse_event
from aqe_plugin.events.model import JoinDecided, QueryEnded
from aqe_plugin.events.queries import QueryStory, queries_in
from aqe_plugin.exporter.metrics import FILTERS_NOT_APPLIED
from aqe_plugin.logs import Skipped, find_event_logs, read_log
from aqe_plugin.logs.codecs import decompressor
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.history import history_of
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Limits
from aqe_plugin.tuning.spark_replay import SparkReplay
from exporting import serve
from samples import decided, ended, log_bytes, merge_patch, query_lines
from scraping import scrape, value

pytestmark = pytest.mark.spark

VECTORS = sorted((Path(__file__).parents[1] / "vectors").glob("*.json"))
QUERY = """
    SELECT d.kind, count(*) AS many, sum(f.value) AS total
    FROM fact f JOIN dimension d ON f.dimension_id = d.id
    WHERE d.name LIKE '%77' GROUP BY d.kind ORDER BY d.kind
"""


class Session:
    """The shared session, the folder of its event log, and what ran in it."""

    def __init__(self, spark: SparkSession, events: Path) -> None:
        self.spark = spark
        self.events = events

    def run(self, description: str, mode: str) -> list[Any]:
        self.spark.conf.set("spark.aqePlugin.mode", mode)
        self.spark.sparkContext.setJobDescription(description)
        return self.spark.sql(QUERY).collect()

    def flush(self) -> None:
        """Waits until every event is on disk."""
        bus = self.spark.sparkContext._jsc.sc().listenerBus()
        bus.waitUntilEmpty(60_000)
        # The plugin posts a query's outcome when it hears of its end, so its own event may come one round later.
        bus.waitUntilEmpty(60_000)

    def stories(self) -> list[QueryStory]:
        self.flush()
        logs = find_event_logs(self.events)
        told = [story for log in logs for story in queries_in(read_log(log), log.name)]
        return [story for story in told if isinstance(story, QueryStory)]

    def story(self, description: str) -> QueryStory:
        told = [story for story in self.stories() if story.description == description]
        assert len(told) == 1, f"{len(told)} stories of {description}"
        return told[0]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("spark")
    events = folder / "events"
    events.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        # Everything the plugin writes must be readable at once, not when a compression block is full.
        "spark.eventLog.compress": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("aqe-plugin tests").config(map=dict(settings))
    spark = aqe_plugin.configure(builder).getOrCreate()
    try:
        fact, dimension = str(folder / "fact"), str(folder / "dimension")
        spark.range(400_000).selectExpr("id % 20000 AS dimension_id", "id AS value").write.parquet(fact)
        spark.range(20_000).selectExpr("id", "concat('n', id) AS name", "id % 3 AS kind").write.parquet(dimension)
        spark.read.parquet(fact).createOrReplaceTempView("fact")
        spark.read.parquet(dimension).createOrReplaceTempView("dimension")
        yield Session(spark, events)
    finally:
        spark.stop()


def test_a_query_has_equal_rows_in_every_mode_and_explain_shows_its_decision(session: Session) -> None:
    expected = session.run("without the plugin", "off")
    assert session.run("observed", "observe") == expected
    assert session.run("applied", "apply") == expected
    assert len(expected) == 3

    applied = session.story("applied")
    assert applied.mode == "apply"
    (join,) = applied.joins
    assert join.decision.facts.build.rows == 200
    assert join.decision.reason.code in reason_meanings()
    assert {option.strategy for option in join.decision.options} >= {join.decision.choice}
    assert applied.ended is not None
    assert (applied.ended.errors, applied.ended.planned - applied.ended.applied) == (0, 0)

    observed = session.story("observed")
    assert observed.mode == "observe"
    # Nothing waited for the build side, so there was less left to choose from when it was done.
    assert [one.decision.facts.join_id for one in observed.joins] == [join.decision.facts.join_id]
    assert observed.ended is not None
    assert observed.ended.applied == 0


def test_the_filter_shows_how_many_rows_passed(session: Session) -> None:
    session.spark.conf.set("spark.aqePlugin.test.openGates", "true")
    try:
        session.run("filtered", "apply")
    finally:
        session.spark.conf.unset("spark.aqePlugin.test.openGates")
    (join,) = session.story("filtered").joins
    (outcome,) = join.outcomes
    assert (outcome.rows_in, outcome.rows_out, outcome.keys) == (400_000, 4_000, 200)
    assert outcome.filter_bytes > 0
    assert outcome.scan_columns == ("dimension_id",)


def test_the_table_of_decisions_agrees_with_the_event_log(session: Session) -> None:
    session.run("in the table", "apply")
    story = session.story("in the table")
    (join,) = story.joins
    (row,) = session.spark.sql("SELECT * FROM aqe_decisions() WHERE description = 'in the table'").collect()
    decision = join.decision
    assert (row.execution_id, row.query_millis) == (story.execution_id, story.duration_millis)
    assert (row.query_status, row.mode) == ("succeeded", "apply")
    assert (row.join_id, row.choice, row.with_filter) == (
        decision.facts.join_id,
        decision.choice,
        decision.build_filter,
    )
    assert (row.reason, row.reason_conf_key or "") == (decision.reason.code, decision.reason.conf_key)
    assert without_nulls(json.loads(row.facts)) == encode(decision.facts)
    assert len(row.options_not_taken) == len(decision.options) - 1
    assert row.filter_rows_out == (sum(one.rows_out for one in join.outcomes) if join.outcomes else None)


def test_a_jar_of_spark_jars_works_in_its_child_class_loader(session: Session) -> None:
    loader = session.spark._jsparkSession.sharedState().jarClassLoader()
    plugin, spark = (
        loader.loadClass(name).getClassLoader() for name in (PLUGIN_CLASS, "org.apache.spark.SparkContext")
    )
    assert not plugin.equals(spark)
    session.run("from a child class loader", "apply")
    ended = session.story("from a child class loader").ended
    # A member of Spark that were out of reach would be a fault.
    assert ended is not None
    assert ended.errors == 0


def test_keys_do_not_go_through_a_node_that_runs_python_but_may_be_checked_above_it(session: Session) -> None:
    doubled = udf(lambda value: value * 2, "long")

    def rows(mode: str) -> list[Any]:
        session.spark.conf.set("spark.aqePlugin.mode", mode)
        session.spark.sparkContext.setJobDescription(f"python node, {mode}")
        fact = (
            session.spark.table("fact").where("value < 40000").select("dimension_id", doubled("value").alias("double"))
        )
        few = session.spark.table("dimension").where("id < 5")
        return sorted(fact.join(few, fact.dimension_id == few.id).select("id", "double").collect())

    session.spark.conf.set("spark.aqePlugin.test.openGates", "true")
    try:
        expected = rows("off")
        assert rows("apply") == expected
    finally:
        session.spark.conf.unset("spark.aqePlugin.test.openGates")
    assert len(expected) == 10
    (join,) = session.story("python node, apply").joins
    assert all(outcome.table == "(shuffle)" for outcome in join.outcomes)
    assert join.outcomes or join.decision.filter_reason.code in ("NO_TARGET_SCAN", "WAIT_RELEASED")


def test_every_event_survives_the_way_from_scala_to_python_and_back(session: Session) -> None:
    session.run("round trip", "apply")
    session.flush()
    lines = [one for log in find_event_logs(session.events) for part in log.parts for one in part.path.open("rb")]
    ours = [one for one in lines if one.startswith(b'{"Event":"io.aqeplugin.')]
    events = [parse_event(one) for one in ours]
    assert {type(event) for event in events} == {JoinDecided, QueryEnded}
    for one, event in zip(ours, events, strict=True):
        assert encode(event) == without_nulls(json.loads(one))


def without_nulls(value: Any) -> Any:
    """Leaves out what our JSON does: nulls, the event's name, and the version inside a decision."""
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if isinstance(value, dict):
        dropped = {"Event"} | ({"schemaVersion"} if "options" in value else set())
        return {key: without_nulls(item) for key, item in value.items() if item is not None and key not in dropped}
    return value


def test_a_query_without_a_description_is_named_by_the_call_that_ran_it(session: Session) -> None:
    session.spark.conf.set("spark.aqePlugin.mode", "apply")
    session.spark.sparkContext.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
    session.spark.sql(QUERY).count()
    last = max(session.stories(), key=lambda story: story.execution_id)
    assert last.description == "count at NativeMethodAccessorImpl.java:0"


def test_what_was_decided_is_decided_again_from_the_logged_facts(session: Session) -> None:
    session.run("replayed", "apply")
    (join,) = session.story("replayed").joins
    (again,) = decide(session.spark, [(encode(join.decision.facts), {})])
    assert again == encode(join.decision)


def test_runs_in_both_modes_are_evidence_that_recommend_weighs(session: Session) -> None:
    for number in range(6):
        for mode in ("observe", "apply"):
            session.run(f"{mode} {number}, to be weighed", mode)
    history = history_of(story for story in session.stories() if story.description.endswith("to be weighed"))
    assert len(history.runs) == 12
    assert len({run.fingerprint for run in history.runs}) == 1
    ways = {run.options for run in history.runs}
    assert (JoinOption("plain_sort_merge", False),) in ways
    session.spark.conf.set("spark.aqePlugin.mode", "off")
    findings = recommend(history.runs, current({}), Limits(), SparkReplay(session.spark))
    assert len(findings) == 8
    # Enough runs for every group to have its own answer; which one depends on how long this machine took.
    assert not any("no fingerprint" in one.reason and "with 5 runs" in one.reason for one in findings)


def decide(spark: SparkSession, cases: list[tuple[Any, Any]]) -> list[Any]:
    """The decision for each pair of facts and thresholds, by the plugin's SQL function."""
    rows = [(number, json.dumps(facts), json.dumps(thresholds)) for number, (facts, thresholds) in enumerate(cases)]
    spark.conf.set("spark.aqePlugin.mode", "off")
    frame = spark.createDataFrame(rows, "number int, facts string, thresholds string")
    answers = frame.selectExpr("number", "aqe_decide(facts, thresholds) AS decision").collect()
    return [without_nulls(json.loads(row.decision)) for row in sorted(answers, key=lambda row: row.number)]


def test_every_contract_vector_is_decided_as_written(session: Session) -> None:
    assert VECTORS
    files = [json.loads(path.read_text(encoding="utf-8")) for path in VECTORS]
    vectors = [(file["facts"], vector) for file in files for vector in file["vectors"]]
    cases = [(merge_patch(facts, vector["facts"]), vector["thresholds"]) for facts, vector in vectors]
    for (_, vector), decision in zip(vectors, decide(session.spark, cases), strict=True):
        assert expectation(decision) == vector["expect"], vector["name"]
        if "passRate" in vector:
            assert decision["passRate"] == pytest.approx(vector["passRate"], abs=1e-9), vector["name"]


def expectation(decision: Any) -> Any:
    """The part of a decision that vectors speak of."""
    with_filter = {True: "_with_filter", False: ""}
    return {
        "choice": decision["choice"],
        "reason": decision["reason"]["code"],
        "buildFilter": decision["buildFilter"],
        "filterReason": decision["filterReason"]["code"],
        "options": {
            one["strategy"] + with_filter[one["withFilter"] and "sort_merge" not in one["strategy"]]: one["reason"][
                "code"
            ]
            for one in decision["options"]
        },
    }


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_what_sparks_own_codecs_write_is_read(session: Session, tmp_path: Path, codec: str) -> None:
    content = log_bytes(*(query_lines(number) for number in range(100)))
    jvm: Any = session.spark.sparkContext._jvm
    spark_conf: Any = session.spark.sparkContext._jsc.sc().conf()
    codecs = getattr(getattr(jvm, "org.apache.spark.io.CompressionCodec$"), "MODULE$")
    path = tmp_path / f"app-1.{codec}"
    stream = codecs.createCodec(spark_conf, codec).compressedOutputStream(jvm.java.io.FileOutputStream(str(path)))
    stream.write(bytearray(content))
    stream.close()
    reader = decompressor(codec)
    assert b"".join(piece.data for piece in reader.feed(path.read_bytes())) == content
    assert reader.complete
    (log,) = find_event_logs(path)
    records = [record for record in read_log(log) if isinstance(record, JoinDecided | QueryEnded | Skipped)]
    assert records == [event for number in range(100) for event in (decided(number), ended(number))]


def test_the_exporter_reads_the_running_session(session: Session) -> None:
    session.run("exported", "apply")
    session.flush()
    with serve(str(session.events), 0) as port:
        families = scrape(port)
    assert value(families, "aqe_plugin_queries_total") >= 1
    assert value(families, FILTERS_NOT_APPLIED.name) == 0
    assert value(families, "aqe_plugin_errors_total") == 0
    assert value(families, "aqe_plugin_exporter_skipped_total") == 0
