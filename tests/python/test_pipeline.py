"""The decision-log pipeline in a real Spark session, on real and hand-made event logs.

One session serves the whole module. Most tests look at one ingest of one folder, in which every kind of log lies.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

import aqe_plugin
from aqe_plugin.errors import EventSchemaError
from aqe_plugin.events.describe import quantity
from aqe_plugin.events.json_values import decode
from aqe_plugin.events.lines import Event, parse_event
from aqe_plugin.events.model import JoinFacts, JoinKind
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.install.journal import Actor
from aqe_plugin.logs import Skipped, find_event_logs, read_log
from aqe_plugin.logs.queries import read_queries
from aqe_plugin.pipeline.aggregate import aggregate
from aqe_plugin.pipeline.attempt_files import attempts_in, files_below
from aqe_plugin.pipeline.compact import compact
from aqe_plugin.pipeline.event_lines import KINDS, event_lines
from aqe_plugin.pipeline.fingerprint import fingerprint, join_condition, join_conditions
from aqe_plugin.pipeline.history import history_in, stories_of
from aqe_plugin.pipeline.ingest import ingest
from aqe_plugin.pipeline.priced_joins import joined_outcomes, measured_joins
from aqe_plugin.pipeline.report import both_ways, report
from aqe_plugin.pipeline.schemas import JOIN_DECIDED, QUERY_ENDED
from aqe_plugin.pipeline.warehouse import Warehouse
from aqe_plugin.tuning.fingerprint import fingerprint as python_fingerprint
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.history import history_of, run_of
from commands import Answer
from fleet import DEFAULTS, fleet_of, log_of
from opened_page import opened
from samples import (
    APPLICATION_START,
    COMPRESS,
    DECISION,
    FACTS,
    LOG_START,
    decided,
    ended,
    line,
    log_bytes,
    over,
    query_lines,
    started,
    write_log,
)

pytestmark = pytest.mark.spark

RECORDED = Path(__file__).parents[1] / "deploy" / "recorded" / "tpcds.zstd"
EVENT_SCHEMA = Path(aqe_plugin.__file__).with_name("events") / "event_schema.json"
HOSTILE = "</td><script>alert('x')</script><img src=x onerror=alert(1)>\u202egnp.exe\x1b[2J&amp;\""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        # For a few rows, compiling plans and planning anew would take most of the time; the job that is submitted does.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # Dates are those of UTC, wherever a session is.
        "spark.sql.session.timeZone": "Pacific/Kiritimati",
    }
    builder = SparkSession.builder.master("local[2]").appName("aqe-plugin pipeline tests").config(map=dict(settings))
    session = aqe_plugin.configure(builder, mode="off").getOrCreate()
    yield session
    session.stop()


def named(application: str, *queries: Iterable[bytes]) -> bytes:
    """The log of ``application`` with these lines."""
    return log_bytes(*queries).replace(b"app-1", application.encode())


def write_all_kinds(folder: Path) -> None:
    """Logs of every layout, compression and damage, and a file that is none."""
    shutil.copy(RECORDED, folder / "local-1795262548614.zstd")
    for codec, compressed in COMPRESS.items():
        suffix = f".{codec}" if codec else ""
        application = f"app-single-{codec or 'plain'}"
        content = log_bytes(query_lines(1), query_lines(2, error="Boom\nat line 2")).replace(
            b"app-1", application.encode()
        )
        (folder / f"{application}{suffix}").write_bytes(compressed(content))
        rolling = folder / f"eventlog_v2_app-rolling-{codec or 'plain'}"
        rolling.mkdir()
        (rolling / f"appstatus_{rolling.name}").touch()
        for number in (1, 2, 10):
            first = LOG_START + APPLICATION_START.replace(b"app-1", rolling.name.encode()) if number == 1 else b""
            # A query that begins in one part and ends in the next.
            rest = b"".join(query_lines(number * 10))
            (rolling / f"events_{number}_{rolling.name}{suffix}").write_bytes(compressed(first + rest))
    (folder / "app-cut").write_bytes(named("app-cut", query_lines(1), query_lines(2))[:-20])
    damaged = COMPRESS["zstd"](named("app-damaged", query_lines(1)))
    (folder / "app-damaged.zstd").write_bytes(damaged[:-9])
    running = COMPRESS["zstd"](named("app-running", query_lines(1)))
    (folder / "app-running.zstd.inprogress").write_bytes(running[:-9])
    newer = line(decided(3), schemaVersion=2, decision={"another": "shape"})
    lacking = line(decided(4)).replace(b'"buildSide":"right"', b'"buildSide":"up"')
    versions = [*query_lines(1), newer, line(ended(5), schemaVersion=0), lacking]
    (folder / "app-versions").write_bytes(named("app-versions", versions))
    hostile = replace(DECISION, facts=replace(FACTS, keys=(f"`{HOSTILE}`.a = b.c",)))
    lines = [started(1, HOSTILE), line(decided(1, hostile)), over(1), line(ended(1))]
    (folder / "app-hostile").write_bytes(named("app-hostile", lines))
    fleet = fleet_of(0, (1.0, 1.0, 3.0, 1.0, 1.0, 1.0), queries=3)
    (folder / "app-fleet").write_bytes(log_of(fleet.week(None) + fleet.week(DEFAULTS), "app-fleet"))
    (folder / "notes.txt").write_text("not an event log\n")
    (folder / ".hidden").write_text("not looked at\n")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("event logs")
    write_all_kinds(folder)
    return folder


@pytest.fixture(scope="module")
def tables(spark: SparkSession, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    root = str(tmp_path_factory.mktemp("tables") / "<img src=x onerror=alert(1)> & all")
    ingest(spark, [str(logs)], root)
    return root


def read(folder: Path) -> list[QueryStory]:
    found = [one for one in read_queries(folder) if not isinstance(one, Skipped)]
    return sorted(found, key=lambda one: (one.application, one.execution_id))


def stored(spark: SparkSession, root: str) -> list[QueryStory]:
    found = list(stories_of(Warehouse(spark, root)))
    return sorted(found, key=lambda one: (one.application, one.execution_id))


# Shapes


def field_types(table: dict[str, Any], name: str) -> dict[str, str]:
    """Member → type of an object of ``event_schema.json``."""
    (found,) = [one for one in table["objects"] if one["name"] == name]
    return {field["name"]: field["type"] for field in found["fields"]}


def assert_same_members(table: dict[str, Any], name: str, struct: DataType) -> None:
    assert isinstance(struct, StructType)
    scalars = {"integer": "bigint", "number": "double", "text": "string", "boolean": "boolean"}
    members = field_types(table, name)
    if name == "JoinDecision":
        # That of its event.
        del members["schemaVersion"]
    assert set(struct.names) == set(members), name
    for member, told in members.items():
        found = struct[member].dataType
        if told.endswith("[]"):
            assert isinstance(found, ArrayType), f"{name}.{member}"
            found = found.elementType
        inner = told.removesuffix("[]")
        if inner in scalars:
            assert found.simpleString() == scalars[inner], f"{name}.{member}"
        else:
            assert_same_members(table, inner, found)


@pytest.mark.parametrize(("event", "schema"), [("JoinDecided", JOIN_DECIDED), ("QueryEnded", QUERY_ENDED)])
def test_the_schemas_are_those_of_event_schema_json(spark: SparkSession, event: str, schema: str) -> None:
    table = json.loads(EVENT_SCHEMA.read_text(encoding="utf-8"))
    assert_same_members(table, event, StructType.fromDDL(schema))


def test_the_fingerprint_is_the_same_in_spark_and_in_python(spark: SparkSession) -> None:
    dice = random.Random(7)
    pieces = [
        "a",
        "b1",
        "`",
        "``",
        "'",
        "\\",
        " = ",
        " ",
        "#12",
        "7",
        "-3.5e2L",
        ".",
        "ä",
        "٣",
        "\u00a0",
        "\n",
        "(",
        "x_9",
    ]
    texts = ["".join(dice.choices(pieces, k=dice.randint(0, 12))) for _ in range(1500)]
    texts += ["date_dim.`a 1` = fact.b", "cast(x as 'it''s 3') = y.2021", "`" + "a" * 20_000, "'" + "b" * 20_000]
    queries = [
        [(dice.choice(list(JoinKind)), dice.choices(texts, k=dice.randint(1, 3))) for _ in range(dice.randint(0, 3))]
        for _ in range(400)
    ]
    rows = [(at, [(kind.value, keys) for kind, keys in joins]) for at, joins in enumerate(queries)]
    frame = spark.createDataFrame(rows, "at int, joins array<struct<kind: string, keys: array<string>>>")
    joins = F.transform("joins", lambda join: join_condition(join["kind"], join["keys"]))
    fingerprints = frame.select("at", fingerprint(join_conditions(joins)).alias("fingerprint"))
    found = {row.at: row.fingerprint for row in fingerprints.collect()}
    for at, made in enumerate(queries):
        decisions = [replace(DECISION, facts=replace(FACTS, kind=kind, keys=tuple(keys))) for kind, keys in made]
        stories = tuple(JoinStory(decision, (), ()) for decision in decisions)
        story = QueryStory("a", "", at, "", decided().mode, 1, stories, None, None)
        assert found[at] == python_fingerprint(story), made


# Lines


def random_log(dice: random.Random, application: str) -> bytes:
    """Lines that are wanted among others of every length, ended in any way."""
    lines = [LOG_START, APPLICATION_START.replace(b"app-1", application.encode())]
    for number in range(dice.randint(0, 12)):
        lines += dice.sample([*query_lines(number, dice.choice(["q93", "Grüße\n", "x" * 5000])), b"\n", b"{}\n"], 4)
        noise = dice.choice(
            [b"SparkListenerTaskEnd", b"io.aqeplugin.tell.JoinDecide", b"io.aqeplugin.tell.QueryEnded2"]
        )
        lines.append(b'{"Event":"' + noise + b'","x":"' + b"y" * dice.choice([0, 7, 300, 70_000, 900_000]) + b'"}\n')
    ending = dice.choice([b"\n", b"\r\n"])
    text = b"".join(line.replace(b"\n", ending) for line in lines)
    return text if dice.random() < 0.5 else text.removesuffix(ending)


def test_ingest_finds_the_same_lines_as_the_plain_reader(spark: SparkSession, tmp_path: Path) -> None:
    dice = random.Random(5)
    for number in range(100):
        codec, application = dice.choice(list(COMPRESS)), f"app-{number}"
        content = COMPRESS[codec](random_log(dice, application))
        if dice.random() < 0.3:
            content = content[: dice.randint(0, len(content))]
        (tmp_path / f"{application}{codec and '.'}{codec}").write_bytes(content)
    # Larger than a task reads.
    (tmp_path / "app-large").write_bytes(random_log(dice, "app-large") + b"".join(query_lines(3)) * 1000)

    attempts = attempts_in(files_below(spark, [str(tmp_path)]))
    rows = event_lines(spark, attempts.values()).orderBy("log", "position").collect()
    found: dict[str, list[Event]] = {log: [] for log in attempts}
    for row in rows:
        text = row.line
        if row.kind in ("started", "over"):
            text = json.dumps({"Event": KINDS[row.kind], **json.loads(row.line)}, separators=(",", ":"))
        with suppress(EventSchemaError):
            event = parse_event(text.encode())
            if event is not None:
                found[row.log].append(event)
    compared = 0
    for log in find_event_logs(tmp_path):
        expected = [one for one in read_log(log) if not isinstance(one, Skipped)]
        assert found[log.name] == expected, log.name
        compared += len(expected)
    assert compared > 5_000


# What is in the tables


def test_the_tables_hold_the_same_queries_as_the_logs(spark: SparkSession, logs: Path, tables: str) -> None:
    from_logs, from_tables = read(logs), stored(spark, tables)
    assert len(from_logs) > 80
    for one, other in zip(from_tables, from_logs, strict=True):
        assert one == other
    fingerprints = {
        (row.log, row.executionId): row.fingerprint for row in Warehouse(spark, tables).current("queries").collect()
    }
    recorded = [story for story in from_logs if story.application == "local-1795262548614"]
    assert len(recorded) == 19
    assert all(fingerprints[story.application, story.execution_id] == python_fingerprint(story) for story in recorded)


def test_the_tables_give_the_same_history_as_the_logs(spark: SparkSession, logs: Path, tables: str) -> None:
    from_logs, from_tables = history_of(read(logs)), history_in(spark, tables)
    assert sorted(from_tables.runs, key=str) == sorted(from_logs.runs, key=str)
    assert sorted(from_tables.failures, key=str) == sorted(from_logs.failures, key=str)
    assert from_logs.failures


def test_unusable_lines_are_in_rejected_with_the_reason(spark: SparkSession, tables: str) -> None:
    rows = Warehouse(spark, tables).current("rejected").collect()
    reasons = {(row.log, row.kind, row.why) for row in rows}
    versions = "schemaVersion {}, this aqe-plugin reads 1 to 1"
    assert reasons == {
        ("app-cut", "not whole", "the line is not whole JSON"),
        ("app-damaged", "damaged", "the file is cut off or damaged from here on"),
        ("app-versions", "unknown version", "JoinDecided has " + versions.format(2)),
        ("app-versions", "unknown version", "QueryEnded has " + versions.format(0)),
        ("app-versions", "not whole", "JoinDecided.decision.facts.buildSide: absent, or of another type"),
    }
    (newer,) = [row for row in rows if "schemaVersion 2" in row.why]
    assert json.loads(newer.line)["decision"] == {"another": "shape"}


def test_days_are_in_utc(spark: SparkSession, tables: str) -> None:
    rows = Warehouse(spark, tables).current("decisions").where("log = 'app-versions'").collect()
    assert {str(row.date) for row in rows} == {"2023-11-14"}


def test_measured_joins_are_read_as_tuning_reads_them(spark: SparkSession, logs: Path, tables: str) -> None:
    house = Warehouse(spark, tables)
    joined = joined_outcomes(house.current("decisions"), house.current("outcomes"))
    rows = measured_joins(joined).withColumn("facts", F.to_json("facts")).collect()
    found = {
        (row.log, row.executionId, row.joinId): (
            decode(JoinFacts, json.loads(row.facts)),
            (row.ranAs, row.ranFiltered) if row.ranAs else None,
            None if row.measuredPass is None else (row.predictedPass, row.measuredPass),
        )
        for row in rows
    }
    compared = 0
    for story in read(logs):
        run = run_of(story)
        for join in run.joins if run is not None else ():
            key = story.application.removeprefix("eventlog_v2_"), story.execution_id, join.facts.join_id
            option = join.option and (join.option.strategy.value, join.option.with_filter)
            assert found[key] == (join.measured, option, join.pass_rates), key
            compared += join.pass_rates is not None
    assert compared > 30


# Again, later, killed


def test_ingesting_the_same_logs_again_finds_nothing_new(spark: SparkSession, logs: Path, tables: str) -> None:
    done = ingest(spark, [str(logs)], tables)
    assert (done.run, done.attempts) == (None, 0)


def test_a_log_that_grows_rolls_and_ends_is_in_the_tables_once(spark: SparkSession, tmp_path: Path) -> None:
    folder, root = tmp_path / "logs", str(tmp_path / "tables")
    folder.mkdir()
    single, rolling = folder / "app-1.inprogress", folder / "eventlog_v2_app-2"
    rolling.mkdir()
    (rolling / "appstatus_app-2.inprogress").touch()
    whole = log_bytes(query_lines(1), query_lines(2))
    single.write_bytes(whole[: -len(line(ended(2))) // 2])
    start = LOG_START + APPLICATION_START.replace(b"app-1", b"app-2")
    (rolling / "events_1_app-2").write_bytes(start + b"".join(query_lines(1, "the first")))
    ingest(spark, [str(folder)], root)
    assert [story.ended is None for story in stored(spark, root)] == [False, True, False]
    assert Warehouse(spark, root).current("rejected").count() == 0

    single.write_bytes(whole)
    single.rename(folder / "app-1")
    (rolling / "events_2_app-2").write_bytes(b"".join(query_lines(2)))
    (folder / "app-late").write_bytes(named("app-late", query_lines(5)))
    done = ingest(spark, [str(folder)], root)
    assert done.attempts == 3
    assert stored(spark, root) == read(folder)

    # Spark compacts: what it drops, an earlier read has seen.
    ours = b"".join(one for one in query_lines(1) if b"io.aqeplugin" in one[:30])
    (rolling / "events_2_app-2.compact").write_bytes(start + ours + b"".join(query_lines(2)))
    for number in (1, 2):
        (rolling / f"events_{number}_app-2").unlink()
    (rolling / "events_3_app-2").write_bytes(b"".join(query_lines(3)))
    assert ingest(spark, [str(folder)], root).attempts == 1
    of_two = [story for story in stored(spark, root) if story.application == "app-2"]
    assert [(story.execution_id, story.description) for story in of_two] == [(1, "the first"), (2, "q93"), (3, "q93")]

    before = stored(spark, root)
    merged, removed = compact(spark, root, 0)
    assert merged == 3
    assert removed > 0
    assert stored(spark, root) == before
    assert ingest(spark, [str(folder)], root).run is None


class KilledError(Exception):
    """Nothing tidies up after it, as nothing does after kill -9."""


def test_killed_jobs_have_no_effect_and_concurrent_ones_duplicate_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, root = tmp_path / "logs", tmp_path / "tables"
    folder.mkdir()
    write_log(folder / "app-1", query_lines(1))
    write = Warehouse.write

    def killed_write(house: Warehouse, frame: Any, table: str, run: str, **how: bool) -> int:
        rows = write(house, frame, table, run, **how)
        if table == "decisions":
            raise KilledError
        return rows

    def killed_commit(house: Warehouse, made: Any) -> None:
        Path(house.path("_commits")).mkdir()
        Path(house.path("_commits", f".{made.run}.tmp")).write_text('{"layoutVersion": 1, ')
        raise KilledError

    for name, killed in (("write", killed_write), ("commit", killed_commit)):
        with monkeypatch.context() as patched:
            patched.setattr(Warehouse, name, killed)
            with pytest.raises(KilledError):
                ingest(spark, [str(folder)], str(root))
        assert Warehouse(spark, str(root)).commits("ingest") == []
    assert len(list((root / "decisions").iterdir())) == 2
    assert ingest(spark, [str(folder)], str(root)).decisions == 1
    assert stored(spark, str(root)) == read(folder)

    # As if the other had not committed yet when this one looked.
    (first,) = (root / "_commits").glob("0*.json")
    hidden = first.rename(root / "first.json")
    ingest(spark, [str(folder)], str(root))
    hidden.rename(first)
    assert len(Warehouse(spark, str(root)).commits("ingest")) == 2
    assert stored(spark, str(root)) == read(folder)


KILLED_BEHIND_DECISIONS = """
import sys, time
from aqe_plugin.cli.main import main
from aqe_plugin.pipeline.warehouse import Warehouse

write = Warehouse.write

def stopped_write(house, frame, table, run, **how):
    rows = write(house, frame, table, run, **how)
    if table == "decisions":
        print("written", flush=True)
        time.sleep(3600)
    return rows

Warehouse.write = stopped_write
main(["pipeline", "ingest", *sys.argv[1:]])
"""


def test_a_killed_process_loses_and_duplicates_nothing(spark: SparkSession, tmp_path: Path) -> None:
    folder, root = tmp_path / "logs", tmp_path / "tables"
    folder.mkdir()
    write_log(folder / "app-1", query_lines(1))
    ingest(spark, [str(folder)], str(root))
    write_log(folder / "app-1", [*query_lines(1), *query_lines(2)])
    (folder / "app-2").write_bytes(named("app-2", query_lines(1)))
    before = stored(spark, str(root))

    words = [sys.executable, "-c", KILLED_BEHIND_DECISIONS, str(folder), "--tables", str(root)]
    # A group of its own, so that the kill takes Spark's process with it.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    killed = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"written\n"
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    assert killed.returncode == -signal.SIGKILL
    assert len(list((root / "decisions").iterdir())) == 2
    assert len(list((root / "_staging").iterdir())) == 1
    assert stored(spark, str(root)) == before

    assert ingest(spark, [str(folder)], str(root)).attempts == 2
    assert stored(spark, str(root)) == read(folder)
    assert ingest(spark, [str(folder)], str(root)).run is None
    compact(spark, str(root), 0)
    assert [len(list(root.glob(left))) for left in ("decisions/*", "_staging/*", "_commits/0*.json")] == [1, 0, 1]
    assert stored(spark, str(root)) == read(folder)


def test_lines_of_a_newer_plugin_are_read_after_an_upgrade_without_the_log(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, root = tmp_path / "logs", str(tmp_path / "tables")
    folder.mkdir()
    write_log(folder / "app-1", [*query_lines(1), line(decided(2), schemaVersion=2), line(ended(2))])
    write_log(folder / "app-2", query_lines(1))
    assert ingest(spark, [str(folder)], root).rejected == 1
    (folder / "app-1").unlink()
    for module in ("ingest", "parse_events"):
        monkeypatch.setattr(f"aqe_plugin.pipeline.{module}.SCHEMA_VERSION", 2)
    # As if these were many rows, which are shuffled.
    monkeypatch.setattr("aqe_plugin.pipeline.ingest._SMALL_BYTES", 0)
    done = ingest(spark, [str(folder)], root)
    assert (done.attempts, done.files, done.rejected) == (1, 0, 0)
    house = Warehouse(spark, root)
    of_one = house.current("decisions").where("log = 'app-1'").orderBy("executionId").collect()
    assert [(row.executionId, row.schemaVersion) for row in of_one] == [(1, 1), (2, 2)]


# Sums and the page


@pytest.fixture(scope="module")
def aggregated(spark: SparkSession, tables: str) -> str:
    aggregate(spark, tables, current({}))
    return tables


def test_aggregates_are_the_sums_of_the_queries(spark: SparkSession, logs: Path, aggregated: str) -> None:
    house = Warehouse(spark, aggregated)
    days = house.read("fingerprint_days", house.commits("aggregate")[-1:]).drop("run").collect()
    stories = read(logs)
    finished = [story for story in stories if story.ended is not None and story.error is None]
    outcomes = [one for story in stories for join in story.joins for one in join.outcomes if one.kind != "pass_all"]
    assert sum(day.queries for day in days) == len(stories)
    assert sum(day.failed for day in days) == sum(story.error is not None for story in stories)
    assert sum(day.totalMillis for day in days) == sum(story.duration_millis or 0 for story in finished)
    assert sum(day.joins for day in days) == sum(len(story.joins) for story in stories)
    assert sum(day.rowsIn for day in days) == sum(one.rows_in for one in outcomes)
    assert sum(day.rowsOut for day in days) == sum(one.rows_out for one in outcomes)
    assert all(day.regretMillis >= 0 for day in days)
    assert any(day.regretMillis > 0 for day in days)


def test_a_fingerprint_is_compared_when_it_ran_both_ways_often_enough(spark: SparkSession) -> None:
    rows = [("a", "apply", 6, 100.0), ("a", "observe", 5, 300.0), ("b", "apply", 4, 1.0), ("b", "observe", 9, 9.0)]
    frame = spark.createDataFrame(rows, "fingerprint string, mode string, queries int, medianMillis double")
    days = frame.selectExpr("*", "fingerprint AS joinConditions", "0 AS failed", "0 AS running")
    (found,) = both_ways(days).collect()
    assert (found.fingerprint, found.applied, found.observed, found.savedMillis) == ("a", 6, 5, 6 * 200.0)


def test_the_page_loads_nothing_and_hostile_text_stays_text(
    spark: SparkSession, aggregated: str, tmp_path: Path
) -> None:
    output = tmp_path / "page.html"
    report(spark, aggregated, current({}), output)
    page = opened(output.read_text(encoding="utf-8"))
    assert page.unclosed == []
    assert not page.tags & {"script", "img", "link", "iframe", "object", "base", "form"}
    assert page.loads == []
    assert page.tags >= {"svg", "table", "rect", "circle"}
    assert aggregated in page.text
    for text in (
        "Saved and lost by day",
        "Recommended changes",
        "the line is not whole JSON",
        "Joins with most regret",
    ):
        assert text in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


# The command line


@pytest.fixture
def command(spark: SparkSession, answer: Answer, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """The command line over the module's session, for there is one in a process."""

    @contextmanager
    def session(name: str, **how: bool) -> Iterator[SparkSession]:
        yield spark

    for module in ("pipeline", "history_source"):
        monkeypatch.setattr(f"aqe_plugin.cli.{module}.job_session", session)
    return answer


def test_recommend_finds_the_same_in_tables_and_in_logs(
    command: Answer, spark: SparkSession, logs: Path, tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def replay() -> Iterator[Any]:
        from aqe_plugin.tuning.spark_replay import SparkReplay

        yield SparkReplay(spark)

    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", replay)
    from_tables = command("recommend", "--decisions", tables, "--format", "json")
    from_logs = command("recommend", str(logs), "--format", "json")
    assert from_tables[:2] == from_logs[:2]
    assert from_tables[0] == 0
    assert len(from_tables[1].splitlines()) == 8


def test_apply_takes_the_same_steps_with_tables_and_with_logs(
    command: Answer, spark: SparkSession, logs: Path, tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def replay() -> Iterator[Any]:
        from aqe_plugin.tuning.spark_replay import SparkReplay

        yield SparkReplay(spark)

    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", replay)
    clock = datetime(2023, 11, 14, tzinfo=timezone.utc)
    monkeypatch.setattr("aqe_plugin.cli.apply.actor", lambda why: Actor("ann@host", why, lambda: clock))
    steps: dict[str, list[str]] = {}
    written: dict[str, list[str]] = {}
    for source, canary in (((str(logs),), "--canary-log"), (("--decisions", tables), "--canary-decisions")):
        folder = tmp_path / canary
        folder.mkdir()
        files = [folder / name for name in ("spark-defaults.conf", "queue-a.conf")]
        for file in files:
            file.write_text("spark.master yarn\n")
        words = ["apply", *source, "--target", str(files[0]), "--format", "json", "--yes", "--canary", str(files[1])]
        # With the whole fleet's runs as those of the canary.
        words += [canary, source[-1]]
        asked = ("--set", "spark.aqePlugin.filter.maxPassRate=0.4")
        answers = [command(*words), command(*words, *asked), command(*words)]
        assert [code for code, _, _ in answers] == [0, 0, 0], answers
        recommended, *went = [out.replace(str(folder), "FOLDER") for _, out, _ in answers]
        steps[canary] = [recommended, answers[0][2].splitlines()[-1], *went]
        written[canary] = [file.read_text() for file in files]
    assert steps["--canary-decisions"] == steps["--canary-log"]
    assert written["--canary-decisions"] == written["--canary-log"]
    assert "Nothing to change: no group passes" in steps["--canary-log"][1]
    assert [json.loads(out)["ring"] for out in steps["--canary-log"][2:]] == ["canary", "all"]
    code, _, err = command("apply", str(logs), "--canary-decisions", tables, "--target", str(files[0]))
    assert (code, err) == (5, "--canary-decisions goes with --decisions, and in place of --canary-log.\n")
    assert command("apply", "--target", str(files[0]))[0] == 5


def test_spark_submit_runs_a_job_with_only_the_script_and_the_jar(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_log(tmp_path / "logs" / "app-1", query_lines(1))
    home = Path(pyspark.__file__).parent
    ask = [sys.executable, "-m", "aqe_plugin"]
    script, jar = (
        subprocess.run([*ask, *words], capture_output=True, text=True, check=True).stdout.strip()
        for words in (("pipeline", "script-path"), ("jar-path",))
    )
    confs = ("spark.plugins=io.aqeplugin.AqePlugin", "spark.ui.enabled=false", "spark.sql.shuffle.partitions=2")
    submitted = [word for conf in confs for word in ("--conf", conf)]
    words = ["--master", "local[2]", "--jars", jar, *submitted, script, "ingest"]
    environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    ran = subprocess.run(
        [str(home / "bin" / "spark-submit"), *words, str(tmp_path / "logs"), "--tables", str(tmp_path / "tables")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert stored(spark, str(tmp_path / "tables")) == read(tmp_path / "logs")


def test_the_commands_report_their_work_and_what_is_missing(
    command: Answer, logs: Path, tables: str, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    content = write_log(tmp_path / "one" / "app-1", query_lines(1)).stat().st_size
    _, _, told = command("pipeline", "ingest", str(tmp_path / "one"), "--tables", str(tmp_path / "of-one"))
    size = quantity(content, "bytes")
    assert told.splitlines()[:5] == [
        "Starting Spark ...",
        "Looking for logs ...",
        f"Found 1 files ({size}) of 1 application attempts. Comparing them with the tables ...",
        f"Reading what is new or has grown: 1 files ({size}) of 1 application attempts ...",
        "Writing the tables ...",
    ]
    code, out, told = command("pipeline", "ingest", str(logs), "--tables", tables)
    assert (code, out, told.splitlines()[-1]) == (0, "", "Nothing new.")
    nowhere, empty = str(tmp_path / "nowhere"), str(tmp_path / "empty")
    for words, told in (
        (("ingest", nowhere, "--tables", empty), f"{nowhere}: no such file or folder."),
        (("aggregate", "--tables", empty), f"{empty}: no tables of aqe-plugin there."),
        (
            ("report", "--tables", empty),
            f"{empty}: no aggregates in this folder. `aqe-plugin pipeline aggregate` makes them.",
        ),
    ):
        code, out, err = command("pipeline", *words)
        assert (code, out) == (4, "")
        assert told in err
        assert "Traceback" not in err
    (tmp_path / "file").write_text("no folder")
    code, _, err = command("pipeline", "ingest", str(logs), "--tables", str(tmp_path / "file" / "tables"))
    assert code == 8
    assert "a file system refused access" in err
    assert command("recommend")[0] == 5
