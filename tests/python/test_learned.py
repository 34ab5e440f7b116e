"""What logs taught is kept, and makes no difference to any result."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from aqe_plugin.errors import StoreError
from aqe_plugin.logs import Skipped
from aqe_plugin.logs.queries import read_queries
from aqe_plugin.render.progress import LogProgress, log_progress
from aqe_plugin.tuning.history import Failure, History, history_of
from aqe_plugin.tuning.learned import lesson as lesson_module
from aqe_plugin.tuning.learned import store as store_module
from aqe_plugin.tuning.learned.lesson import Lesson, packed, unpacked
from aqe_plugin.tuning.learned.reading import Reading, read_logs
from aqe_plugin.tuning.learned.store import KEPT_DAYS, opened
from commands import Answer
from fleet import fleet_of, log_of
from samples import FOREIGN_LINE, decided, ended, line, log_bytes, over, query_lines, started, write_log

QUIET = LogProgress(None)
DAY = 20_000
RUNS = fleet_of(0, queries=2).week(None, 2)
EMPTY = Lesson(History((), ()), 0, None, True)


def through(store: Path | None, *places: Path) -> Reading:
    return read_logs([str(place) for place in places], {}, store, QUIET)


def anew(*places: Path) -> tuple[History, list[Skipped]]:
    told = [one for place in places for one in read_queries(place)]
    queries = [one for one in told if not isinstance(one, Skipped)]
    return history_of(queries), [one for one in told if isinstance(one, Skipped)]


def assert_as_anew(read: Reading, *places: Path) -> None:
    history, skipped = anew(*places)
    assert read.history == history
    assert (read.skipped, read.first_skipped) == (len(skipped), skipped[0] if skipped else None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Logs of every kind: whole, compressed, rolling, in progress, cut off, of another version, and none at all."""
    made = tmp_path / "logs"
    rolling = made / "eventlog_v2_app-3"
    rolling.mkdir(parents=True)
    (made / "app-1").write_bytes(log_of(RUNS, "app-1", errors=1))
    (made / "app-2.zstd").write_bytes(zstandard.compress(log_bytes(query_lines(1), query_lines(2))))
    (rolling / "appstatus_app-3").write_bytes(b"")
    (rolling / "events_1_app-3").write_bytes(log_bytes(query_lines(1)[:2]))
    (rolling / "events_2_app-3").write_bytes(b"".join(query_lines(1)[2:]))
    (made / "app-4.inprogress").write_bytes(log_bytes(query_lines(1)) + line(decided(2))[:-40])
    (made / "app-5").write_bytes(log_bytes([line(decided(), schemaVersion=5)], query_lines()))
    failed = [started(), line(decided()), line(ended()), over(error="out of disk\n at x")]
    (made / "app-6").write_bytes(log_bytes(failed, query_lines(8)))
    (made / "note").write_text("no log")
    return made


def test_logs_say_the_same_without_a_store_with_a_new_one_and_with_one_that_knows_them(
    folder: Path, tmp_path: Path
) -> None:
    store = tmp_path / "learned.db"
    for read in (through(None, folder), through(store, folder), through(store, folder)):
        assert_as_anew(read, folder)
        assert (read.logs, read.trouble) == (7, "")
    # All but the note, of which nobody can say that it will not be a log when its rights or our packages change.
    assert read.remembered == 6
    assert read.history.runs


def test_only_what_is_new_or_has_grown_is_read_and_what_is_gone_counts_no_longer(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "learned.db"
    through(store, folder)
    (folder / "note").unlink()
    with (folder / "app-1").open("ab") as file:
        file.write(b"".join(query_lines(99)))
    (folder / "app-7").write_bytes(log_bytes(query_lines(1)))
    (folder / "app-2.zstd").unlink()
    read = through(store, folder)
    assert_as_anew(read, folder)
    assert (read.logs, read.remembered) == (6, 4)
    (folder / "app-4.inprogress").rename(folder / "app-4")
    ended = through(store, folder)
    assert_as_anew(ended, folder)
    assert ended.remembered == 5
    # The same log again, by another path and twice.
    again = through(store, folder / "app-1", folder / ".." / folder.name / "app-1", folder / "app-1")
    assert_as_anew(again, folder / "app-1", folder / "app-1", folder / "app-1")


STEPS = st.lists(st.tuples(st.sampled_from(("write", "append", "cut", "end", "delete", "roll")), st.integers(0, 3)))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_whatever_happens_to_logs_the_result_is_that_of_reading_them_anew(
    tmp_path: Path, steps: Sequence[tuple[str, int]]
) -> None:
    folder, store = tmp_path / "logs", tmp_path / "learned.db"
    shutil.rmtree(folder, ignore_errors=True)
    store.unlink(missing_ok=True)
    folder.mkdir()
    (folder / "app-0").write_bytes(log_bytes(query_lines(1)))
    for number, (what, which) in enumerate(steps, start=1):
        change(folder, what, which, number)
        for _ in range(2):
            read = through(store, folder)
            assert_as_anew(read, folder)
            assert read.trouble == ""


def change(folder: Path, what: str, which: int, number: int) -> None:
    """One thing that may happen; no two contents have one size."""
    single, running = folder / f"app-{which + 1}", folder / f"app-{which + 1}.inprogress"
    content = log_bytes(query_lines(number), [FOREIGN_LINE * (number * 7)])
    present = next((path for path in (single, running) if path.exists()), running)
    if what == "write":
        present.write_bytes(content)
    elif what == "append" and present.exists():
        with present.open("ab") as file:
            file.write(b"".join(query_lines(number)))
    elif what == "cut" and present.exists():
        present.write_bytes(content[: -1 - number])
    elif what == "end" and running.exists():
        running.rename(single)
    elif what == "delete":
        present.unlink(missing_ok=True)
    elif what == "roll":
        rolling = folder / f"eventlog_v2_app-{which}"
        rolling.mkdir(exist_ok=True)
        (rolling / f"events_{number}_app-{which}").write_bytes(content)
        if number % 3 == 0:
            (rolling / f"events_{number}_app-{which}.compact").write_bytes(content)


def test_a_file_that_could_not_be_read_is_tried_again(tmp_path: Path) -> None:
    store = tmp_path / "learned.db"
    (tmp_path / "app-1.lzf").write_bytes(b"ZV\0")
    for _ in range(2):
        read = through(store, tmp_path / "app-1.lzf")
        assert (read.skipped, read.remembered) == (1, 0)


def test_what_another_version_of_aqe_plugin_learned_is_not_taken(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "learned.db"
    with monkeypatch.context() as older:
        older.setattr(store_module, "READER", "0/1/0.0.1")
        through(store, folder)
        assert through(store, folder).remembered == 6
    assert [through(store, folder).remembered for _ in range(2)] == [0, 6]


def test_a_log_that_is_written_to_while_it_is_read_is_not_kept_as_either(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, log, learn = tmp_path / "learned.db", folder / "app-1", lesson_module.learn

    def disturbed(*of: object) -> Lesson:
        found = learn(*of)  # type: ignore[arg-type]
        log.write_bytes(log.read_bytes() + b"".join(query_lines(50)))
        return found

    with monkeypatch.context() as patched:
        patched.setattr("aqe_plugin.tuning.learned.reading.learn", disturbed)
        through(store, log)
    read = through(store, log)
    assert_as_anew(read, log)
    assert read.remembered == 0


# The file


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE lessons (theirs TEXT)")


def newer_store(path: Path) -> None:
    with opened(path):
        pass
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 9")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.write_text("to be kept\n" * 100), "is no store of aqe-plugin, or damaged (file is not a"),
        (
            lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 9000),
            "is no store of aqe-plugin, or damaged",
        ),
        (foreign_database, "is no store of aqe-plugin, or damaged (made by another program). Give another --store"),
        (newer_store, "schemaVersion 9, this aqe-plugin keeps 1. Give another --store, or move it away"),
        (lambda path: path.mkdir(), "is no store of aqe-plugin, or damaged (a folder, a device or a pipe)"),
    ],
)
def test_a_file_that_is_no_store_is_left_as_it_is_told_once_and_done_without(
    folder: Path, tmp_path: Path, answer: Answer, make: object, told: str
) -> None:
    store = tmp_path / "learned.db"
    make(store)  # type: ignore[operator]
    before = store.read_bytes() if store.is_file() else None
    read = through(store, folder)
    assert_as_anew(read, folder)
    assert (read.remembered, told in read.trouble) == (0, True), read.trouble
    code, _, err = answer("recommend", str(write_log(tmp_path / "empty", query_lines()[:3])), "--store", str(store))
    assert (code, err.count("learned.db")) == (4, 1)
    assert (store.read_bytes() if store.is_file() else None) == before


def test_a_store_that_cannot_be_made_is_told_and_done_without(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    read = through(tmp_path / "file" / "learned.db", folder)
    assert_as_anew(read, folder)
    assert "cannot be used" in read.trouble


@pytest.mark.parametrize("damage", ["x''", "substr(lesson, 1, length(lesson) / 2)", "zeroblob(400)", "'text'"])
def test_a_damaged_entry_is_read_anew_and_replaced(folder: Path, tmp_path: Path, damage: str) -> None:
    store = tmp_path / "learned.db"
    through(store, folder)
    with closing(sqlite3.connect(store)) as database, database:
        database.execute(f"UPDATE lessons SET lesson = {damage} WHERE CAST(log AS TEXT) LIKE '%/app-1'")
    read = through(store, folder)
    assert_as_anew(read, folder)
    assert (read.remembered, read.trouble) == (5, "1 of its entries were damaged, and are replaced")
    assert (through(store, folder).remembered, through(store, folder).trouble) == (6, "")


def test_a_bit_that_tipped_over_changes_no_number() -> None:
    data = packed(Lesson(history_of([]), 3, None, True))
    assert data is not None
    for place in range(2, len(data)):
        tipped = unpacked(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert tipped in (None, unpacked(data))


def test_a_lesson_that_would_not_come_back_as_it_is_is_not_kept() -> None:
    (join,) = RUNS[0].joins
    keys = join.measured.build.keys
    far = replace(join.measured, build=replace(join.measured.build, keys=replace(keys, origin_distinct=2**70)))
    none = replace(RUNS[0], joins=(replace(join, pass_rates=(float("nan"), 0.5)),))
    for run in (replace(RUNS[0], joins=(replace(join, measured=far),)), none):
        assert packed(replace(EMPTY, history=History((run,), ()))) is None
    whole = replace(EMPTY, history=History(tuple(RUNS), (Failure("c", "half a \ud83d character", 5),)))
    data = packed(whole)
    assert data is not None
    assert unpacked(data) == whole


def test_a_full_disk_loses_nothing_but_what_would_have_been_kept(tmp_path: Path) -> None:
    path = tmp_path / "learned.db"
    with opened(path) as store:
        store._database.execute("PRAGMA max_page_count = 1")
        store.put("log", "1", replace(EMPTY, history=History(tuple(RUNS) * 100, ())))
        with pytest.raises(StoreError, match=r"learned\.db: cannot be used \(database or disk is full\)"):
            store.write()
    with opened(path) as store:
        assert store.get("log", "1") is None


def test_what_nobody_used_for_a_month_goes_and_the_file_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "learned.db"
    large = replace(EMPTY, history=History(tuple(RUNS) * 100, ()))
    with opened(path, DAY) as store:
        for name in ("used", "unused"):
            store.put(name, "1", large)
        store.write()
    size = path.stat().st_size
    with opened(path, DAY + KEPT_DAYS) as store:
        assert store.get("used", "1") == large
        store.write()
    with opened(path, DAY + KEPT_DAYS + 1) as store:
        store.write()
        assert (store.get("used", "1"), store.get("unused", "1")) == (large, None)
    assert path.stat().st_size < size * 0.7


def test_a_clock_that_was_ahead_keeps_nothing_for_longer(tmp_path: Path) -> None:
    path = tmp_path / "learned.db"
    for day in (DAY + 9000, DAY):
        with opened(path, day) as store:
            store.put(str(day), "1", EMPTY)
            store.write()
    with opened(path, DAY + KEPT_DAYS + 1) as store:
        store.write()
        assert (store.get(str(DAY), "1"), store.get(str(DAY + 9000), "1")) == (None, None)


def test_the_file_is_its_owners_alone(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "new" / "learned.db"
    through(store, folder)
    assert store.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in store.parent.iterdir() if one.stat().st_size] == ["learned.db"]


def test_many_may_use_one_store_at_once(folder: Path, tmp_path: Path) -> None:
    store, many = tmp_path / "learned.db", 4
    together = threading.Barrier(many)

    def one(_: int) -> Reading:
        together.wait()
        return through(store, folder)

    with ThreadPoolExecutor(many) as threads:
        found = list(threads.map(one, range(many)))
    for read in found:
        assert_as_anew(read, folder)
        assert read.trouble == ""
    assert through(store, folder).remembered == 6


def test_a_store_that_another_holds_for_too_long_is_done_without(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "learned.db"
    through(store, folder)
    monkeypatch.setattr(store_module, "_WAIT_SECONDS", 0.0)
    with closing(sqlite3.connect(store)) as other:
        other.execute("BEGIN EXCLUSIVE")
        read = through(store, folder)
    assert_as_anew(read, folder)
    assert "cannot be used (database is locked)" in read.trouble


def test_what_was_read_before_an_interruption_is_kept(folder: Path, tmp_path: Path) -> None:
    class Interrupted(LogProgress):
        left = 3

        def done(self) -> None:
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt

    store = tmp_path / "learned.db"
    with pytest.raises(KeyboardInterrupt):
        read_logs([str(folder)], {}, store, Interrupted(None))
    assert through(store, folder).remembered == 3


# The command line


def test_recommend_keeps_what_it_read_in_the_users_state_folder_unless_told_otherwise(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = fleet_of(0, (1.0, 1.0, 3.0, 1.0, 1.0, 1.0), queries=4)
    logs, state = tmp_path / "logs", tmp_path / "state"
    logs.mkdir()
    for number in range(2):
        (logs / f"app-{number}").write_bytes(log_of(fleet.week(None), f"app-{number}"))
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", lambda: log_replay(fleet))
    own = tmp_path / "own.db"
    words = ("recommend", str(logs), "--format", "json")
    answers = [answer(*words, *more) for more in (("--no-store",), (), (), ("--store", str(own)))]
    assert {(code, out) for code, out, _ in answers} == {(0, answers[0][1])}
    assert [err.splitlines()[0] for _, _, err in answers] == [
        "Read 2 logs.",
        "Read 2 logs, 0 of them from the store.",
        "Read 2 logs, 2 of them from the store.",
        "Read 2 logs, 0 of them from the store.",
    ]
    assert (state / "aqe-plugin" / "learned.db").is_file()
    assert own.is_file()


def log_replay(fleet: object) -> object:
    from contextlib import nullcontext

    return nullcontext(fleet.replay)  # type: ignore[attr-defined]


def test_how_far_it_is_shows_on_a_terminal_alone() -> None:
    for terminal in (True, False):
        out = StringIO()
        console = Console(file=out, force_terminal=terminal, width=100)
        with log_progress(console) as progress:
            progress.found(2)
            progress.done()
            progress.found(1)
            progress.done()
            progress.stop()
            progress.done()
        assert ("2/3" in out.getvalue()) == terminal
        assert bool(out.getvalue()) == terminal
