"""``ingest`` on real and hand-made event logs."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from aqe_plugin.errors import EventSchemaError
from aqe_plugin.events.fingerprint import fingerprint as python_fingerprint
from aqe_plugin.events.json_values import decode
from aqe_plugin.events.lines import Event, parse_event
from aqe_plugin.events.model import ExecutionStarted, JoinFacts
from aqe_plugin.logs import Skipped, find_event_logs, read_log
from aqe_plugin.pipeline.attempt_files import attempts_in, files_below
from aqe_plugin.pipeline.compact import compact
from aqe_plugin.pipeline.event_lines import KINDS, event_lines
from aqe_plugin.pipeline.history import history_in
from aqe_plugin.pipeline.ingest import ingest
from aqe_plugin.pipeline.priced_joins import joined_outcomes, measured_joins
from aqe_plugin.pipeline.warehouse import Warehouse
from aqe_plugin.tuning.history import history_of
from aqe_plugin.tuning.runs import run_of
from pipeline_logs import named, read, stored
from samples import (
    APPLICATION_START,
    COMPRESS,
    FOREIGN_LINE,
    LOG_START,
    decided,
    ended,
    inferred,
    limited,
    line,
    log_bytes,
    query_lines,
    write_log,
)
from tests.extent import only_in_test_all

pytestmark = pytest.mark.spark


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


def _kept(event: Event) -> Event:
    """``event`` as the pipeline keeps it, without the query that it is part of."""
    return replace(event, root_execution_id=None) if isinstance(event, ExecutionStarted) else event


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
        expected = [_kept(one) for one in read_log(log) if not isinstance(one, Skipped)]
        assert found[log.name] == expected, log.name
        compared += len(expected)
    assert compared > 5_000


def test_the_tables_hold_the_same_queries_as_the_logs(spark: SparkSession, logs: Path, tables: str) -> None:
    from_logs, from_tables = read(logs), stored(spark, tables)
    assert len(from_logs) > 80
    for one, other in zip(from_tables, from_logs, strict=True):
        assert one == other
    fingerprints = {
        (row.log, row.executionId): row.fingerprint for row in Warehouse(spark, tables).current("queries").collect()
    }
    recorded = [story for story in from_logs if story.application == "local-1795992606959"]
    assert len(recorded) == 8
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
            option = join.option and (join.option.strategy, join.option.with_filter)
            assert found[key] == (join.measured, option, join.pass_rates), key
            compared += join.pass_rates is not None
    assert compared > 30


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


@only_in_test_all
def test_limits_and_predicates_have_tables_of_their_own_and_are_in_them_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    one, copy, root = tmp_path / "one", tmp_path / "copy", str(tmp_path / "tables")
    left = replace(limited(1, "leave_to_spark"), outcome=None)
    lines = [line(inferred(1)), line(limited(1)), line(left), *query_lines(1), line(inferred(2)), line(inferred(1))]
    unusable = [line(limited(3), schemaVersion=2), line(limited(3)).replace(b'"operator":"collect"', b'"operator":7')]
    for folder in (one, copy):
        folder.mkdir()
        # The copy is longer before its events, so they have other positions.
        noise = [FOREIGN_LINE] if folder is copy else []
        write_log(folder / "app-1", noise, lines, unusable)
    done = ingest(spark, [str(one), str(copy)], root)
    assert (done.decisions, done.limits, done.predicates, done.queries) == (1, 2, 2, 1)

    house = Warehouse(spark, root)
    for _ in range(2):
        limits = house.current("limits").orderBy("decision.choice").collect()
        assert [(row.log, row.executionId, row.decision.choice, row.decision.reason.code) for row in limits] == [
            ("app-1", 1, "fewest_files", "ENOUGH_ROWS"),
            ("app-1", 1, "leave_to_spark", "ENOUGH_ROWS"),
        ]
        assert [row.outcome and row.outcome.rowsRead for row in limits] == [100_000, None]
        predicates = house.current("predicates").orderBy("executionId").collect()
        assert [(row.executionId, row.predicate, row.inferredBy, row.applied) for row in predicates] == [
            (1, "(day <= 17)", "INEQUALITY", True),
            (2, "(day <= 17)", "INEQUALITY", True),
        ]
        write_log(one / "app-2", query_lines(2))
        ingest(spark, [str(one)], root)
        compact(spark, root, 0)
    whys = {row.why for row in house.current("rejected").collect()}
    assert whys == {
        "LimitDecided has schemaVersion 2, this aqe-plugin reads 1 to 1",
        "LimitDecided.decision.facts.operator: absent, or of another type",
    }


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
