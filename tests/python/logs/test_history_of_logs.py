"""The history of past queries in many event logs."""

from __future__ import annotations

import os
from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest
import zstandard
from rich.console import Console

from aqe_plugin.cli.history_source import history_of_logs
from aqe_plugin.logs import Skipped
from aqe_plugin.logs.queries import queries_of, read_queries
from aqe_plugin.render.progress import log_progress
from commands import Answer
from fleet import fleet_of, log_of
from samples import decided, line, log_bytes, query_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Logs of every kind: whole, compressed, rolling, in progress and cut off, of another version, and none at all."""
    made = tmp_path / "logs"
    rolling = made / "eventlog_v2_app-3"
    rolling.mkdir(parents=True)
    (made / "app-1").write_bytes(log_bytes(query_lines(1), query_lines(2)))
    (made / "app-2.zstd").write_bytes(zstandard.compress(log_bytes(query_lines(3))))
    (rolling / "appstatus_app-3").write_bytes(b"")
    (rolling / "events_1_app-3").write_bytes(log_bytes(query_lines(4)[:2]))
    (rolling / "events_2_app-3").write_bytes(b"".join(query_lines(4)[2:]))
    (made / "app-4.inprogress").write_bytes(log_bytes(query_lines(5)) + line(decided(2))[:-40])
    (made / "app-5").write_bytes(log_bytes([line(decided(), schemaVersion=5)], query_lines(6)))
    (made / "note").write_text("no log")
    return made


def test_every_log_is_read_and_what_could_not_be_used_is_reported(folder: Path) -> None:
    skipped: list[Skipped] = []
    queries = list(read_queries(folder, skipped.append))
    assert len(queries) == 6
    assert [one.path.name for one in skipped] == ["app-4.inprogress", "app-5", "note"]
    assert "schemaVersion 5" in skipped[1].why


def test_only_the_log_of_an_application_that_has_not_ended_has_a_time_of_its_last_change(folder: Path) -> None:
    os.utime(folder / "app-4.inprogress", (17, 17))
    written = {one.execution_id: one.log_written_millis for one in read_queries(folder)}
    assert written == {1: None, 2: None, 3: None, 4: None, 5: 17_000, 6: None}


def test_a_log_that_lies_in_two_of_the_places_counts_once(folder: Path) -> None:
    one, every = str(folder / "app-1"), str(folder)
    of_one, of_every, of_both = (len(history_of_logs(where, []).runs) for where in ([one], [every], [one, every]))
    assert 0 < of_one < of_every == of_both


def test_recommend_says_how_many_logs_it_read_and_what_it_skipped(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = fleet_of(0, (1.0, 1.0, 3.0, 1.0, 1.0, 1.0), queries=4)
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(2):
        (logs / f"app-{number}").write_bytes(log_of(fleet.week(None), f"app-{number}"))
    for number in range(3):
        (logs / f"note-{number}").write_text("no log")
    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", lambda: nullcontext(fleet.replay))
    code, _, err = answer("recommend", str(logs), "--format", "json")
    assert code == 0
    assert err.splitlines()[:2] == [
        "Read 5 logs.",
        f"skipped 3, the first: {logs / 'note-0'}: not a Spark event log",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_logs_are_counted_everywhere_and_shown_on_a_terminal_only(folder: Path, terminal: bool) -> None:
    out = StringIO()
    with log_progress(on_console(out, terminal)) as progress:
        assert len(list(queries_of(folder, lambda _: None, None, progress.track))) == 6
    assert progress.read == 6
    assert ("reading logs" in out.getvalue()) == ("6/6" in out.getvalue()) == bool(out.getvalue()) == terminal


def test_the_logs_of_several_places_are_one_sum() -> None:
    out = StringIO()
    with log_progress(on_console(out, terminal=True)) as progress:
        assert [*progress.track("abc"), *progress.track("de")] == list("abcde")
    assert progress.read == 5
    assert "5/5" in out.getvalue()


def test_reading_goes_on_after_the_progress_was_hidden_and_prints_nothing_more() -> None:
    out = StringIO()
    with log_progress(on_console(out, terminal=True)) as progress:
        logs = progress.track("abc")
        next(logs)
        progress.hide()
        shown = out.getvalue()
        assert list(logs) == ["b", "c"]
        progress.hide()
    assert progress.read == 3
    assert out.getvalue() == shown


def test_a_terminal_without_a_cursor_gets_no_progress_and_no_empty_line() -> None:
    out = StringIO()
    console = Console(file=out, force_terminal=True, _environ={"TERM": "dumb"})
    with log_progress(console) as progress:
        assert list(progress.track("ab")) == ["a", "b"]
        progress.hide()
    assert out.getvalue() == ""


def on_console(out: StringIO, terminal: bool) -> Console:
    return Console(file=out, force_terminal=terminal, width=100, _environ={"TERM": "xterm"})
