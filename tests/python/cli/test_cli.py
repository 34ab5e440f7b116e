"""The command line as a user meets it: output, one red line, exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import pytest
import typer

from aqe_plugin import __version__
from aqe_plugin.cli.app import app
from aqe_plugin.cli.settings import settings_of
from aqe_plugin.errors import EXIT_CODES, AqePluginError
from commands import Answer
from opened_page import opened
from samples import OUTCOME, decided, ended, line, query_lines, write_log


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "aqe_plugin", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "COLUMNS": "200", **environment},
    )


# explain


def test_explain_begins_with_what_was_saved_then_a_line_for_each_query_and_join(tmp_path: Path, answer: Answer) -> None:
    log = str(write_log(tmp_path / "app-1"))
    code, out, err = answer("explain", log)
    assert (code, err) == (0, "")
    head, lines = out.split("\n\n")
    assert head.startswith("1 query of 1 application: 1 join decided, 1 changed against Spark's own choice\n  saved ")
    assert f"aqe-plugin explain {log} --query 7 --why" in head
    assert lines.splitlines() == [
        "query 7  3.4 s  q93  [apply]  nightly (app-1): 1 filter, 27.6 M rows removed",
        "  filtered sort-merge  ss_item_sk = sr_item_sk  filter removed 96 % of 28.8 M rows",
    ]


def test_explain_with_why_shows_every_option_below_the_same_head(tmp_path: Path, answer: Answer) -> None:
    log = str(write_log(tmp_path / "app-1"))
    code, out, err = answer("explain", log, "--why")
    assert (code, err) == (0, "")
    assert out.split("\n\n")[0] == answer("explain", log)[1].split("\n\n")[0]
    for part in ("query 7", "96 % removed", "not broadcast"):
        assert part in out


def test_explain_needs_no_folder_for_temporary_files(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    assert answer("explain", str(write_log(tmp_path / "app-1")))[0] == 0


def test_explain_waits_on_disk_with_lines_that_take_much_memory(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = str(write_log(tmp_path / "app-1", *(query_lines(number) for number in range(20))))
    kept = answer("explain", log)
    monkeypatch.setattr("aqe_plugin.cli.explain._IN_MEMORY", 10)
    monkeypatch.setattr("aqe_plugin.cli.explain._CHUNK", 7)
    assert answer("explain", log) == kept


def test_explain_of_one_query_has_no_head(tmp_path: Path, answer: Answer) -> None:
    for why in ((), ("--why",)):
        assert answer("explain", str(write_log(tmp_path / "app-1")), "--query", "7", *why)[1].startswith("query 7 ")


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("300", 120), ("", 120)])
def test_explain_in_a_pipe_is_as_wide_as_columns_says_but_never_wider_than_120(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    log = str(write_log(tmp_path / "app-1", query_lines(description="a long description " * 30)))
    _, out, _ = answer("explain", log)
    lines = out.split("\n\n")[1].splitlines()
    assert all(line == line.rstrip() for line in out.splitlines())
    assert max(map(len, lines)) == width
    told = [one for one in answer("explain", log, "--why")[1].splitlines() if log not in one]
    assert (max(map(len, told)) <= int(columns or 0)) == bool(columns)


def test_explain_writes_a_page_that_loads_nothing_and_shows_the_head(tmp_path: Path, answer: Answer) -> None:
    hostile = "</summary><script>alert(1)</script>"
    log = str(write_log(tmp_path / "app-1", query_lines(1), query_lines(2, hostile)))
    target = tmp_path / "page.html"
    head = answer("explain", log)[1].split("\n\n")[0]
    code, out, err = answer("explain", log, "--html", str(target))
    assert (code, out.rstrip("\n"), str(target) in err) == (0, head, True)
    page = opened(target.read_text(encoding="utf-8"))
    assert (page.loads, page.unclosed) == ([], [])
    assert not page.tags & {"script", "img", "link", "iframe", "object", "base", "form"}
    assert page.tags >= {"svg", "details", "dl"}
    for part in (hostile, "query 1", "2 joins decided", "not broadcast", "store_sales", "--query 1 --why"):
        assert part in page.text


def test_explain_as_json_writes_a_page_too(tmp_path: Path, answer: Answer) -> None:
    log, target = str(write_log(tmp_path / "app-1")), tmp_path / "page.html"
    _, out, _ = answer("explain", log, "--format", "json", "--html", str(target))
    assert (out, target.is_file()) == (answer("explain", log, "--format", "json")[1], True)


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path, answer: Answer) -> None:
    code, _, err = answer("explain", str(write_log(tmp_path / "app-1")), "--html", str(tmp_path / "no" / "page.html"))
    assert (code, "cannot be written" in err) == (8, True)


def test_explain_of_a_folder_says_of_which_application_each_query_is(tmp_path: Path, answer: Answer) -> None:
    first = write_log(tmp_path / "app-1")
    (tmp_path / "app-2").write_bytes(first.read_bytes().replace(b'"app-1"', b'"app-2"'))
    for why in ((), ("--why",)):
        _, out, _ = answer("explain", str(tmp_path), *why)
        headings = [line for line in out.splitlines() if line.startswith("query 7")]
        assert [name in line for name, line in zip(("app-1", "app-2"), headings, strict=True)] == [True, True]
        assert all("[apply]  nightly (app-" in line for line in headings)


def test_explain_of_a_folder_of_something_else_says_so_once(tmp_path: Path, answer: Answer) -> None:
    for number in range(30):
        (tmp_path / f"note-{number:02}").write_text("no log")
    code, _, err = answer("explain", str(tmp_path))
    assert code == 4
    assert (f"{tmp_path}/note-00" in err, "30 files" in err, err.count("\n")) == (True, True, 1)


def test_explain_gives_json_lines(tmp_path: Path, answer: Answer) -> None:
    write_log(tmp_path / "app-1", query_lines(1), query_lines(2))
    code, out, _ = answer("explain", str(tmp_path), "--format", "json")
    assert code == 0
    assert [json.loads(one)["executionId"] for one in out.splitlines()] == [1, 2]


@pytest.mark.process
def test_explain_shows_any_description_on_any_terminal(tmp_path: Path) -> None:
    log = write_log(tmp_path / "app-1", query_lines(1, "half \ud800 a character"))
    for encoding in ("utf-8", "ascii"):
        shown = run("explain", str(log), PYTHONIOENCODING=encoding)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "half \\ud800 a character" in shown.stdout


def test_paths_are_checked_by_their_reader_and_not_by_the_command_line() -> None:
    def told(app: typer.Typer) -> Iterator[tuple[str, str, bool]]:
        for command in app.registered_commands:
            assert command.callback is not None
            for name, hint in get_type_hints(command.callback, include_extras=True).items():
                yield from (
                    (command.callback.__name__, name, one.readable)
                    for one in getattr(hint, "__metadata__", ())
                    if "Path" in str(hint)
                )
        for group in app.registered_groups:
            assert group.typer_instance is not None
            yield from told(group.typer_instance)

    found = list(told(app))
    assert len(found) > 4
    assert [(command, option) for command, option, refuses in found if refuses] == []


def test_explain_shows_the_queries_of_one_application(tmp_path: Path, answer: Answer) -> None:
    for application in ("app-1", "app-2"):
        path = write_log(tmp_path / application, query_lines(2))
        path.write_bytes(path.read_bytes().replace(b"app-1", application.encode()))
    ask = ("explain", str(tmp_path), "--query", "2", "--format", "json")
    assert len(answer(*ask)[1].splitlines()) == 2
    _, out, _ = answer(*ask, "--application", "app-2")
    assert [json.loads(line)["application"] for line in out.splitlines()] == ["app-2"]
    assert answer(*ask, "--application", "app-3")[0] == 4


def test_explain_shows_one_query_alone(tmp_path: Path, answer: Answer) -> None:
    write_log(tmp_path / "app-1", query_lines(1), query_lines(2))
    _, out, _ = answer("explain", str(tmp_path), "--query", "2", "--format", "json")
    assert [json.loads(one)["executionId"] for one in out.splitlines()] == [2]


def test_explain_reports_skipped_lines_and_shows_the_rest(tmp_path: Path, answer: Answer) -> None:
    (tmp_path / "a-note").write_text("no log")
    write_log(tmp_path / "app-1", [line(decided(), schemaVersion=5)], query_lines())
    code, out, err = answer("explain", str(tmp_path))
    assert (code, out.count("\nquery 7")) == (0, 1)
    newer = "JoinDecided has schemaVersion 5, this aqe-plugin reads up to 1: upgrade it to read them"
    assert err.splitlines() == [
        f"skipped {tmp_path}/a-note: not a Spark event log",
        f"skipped {tmp_path}/app-1, line 3: {newer}",
    ]


def test_explain_of_a_truncated_log_shows_what_is_whole(tmp_path: Path, answer: Answer) -> None:
    path = write_log(tmp_path / "app-1", query_lines(1), query_lines(2))
    path.write_bytes(path.read_bytes()[:-30])
    code, out, err = answer("explain", str(path))
    assert (code, out.count("\nquery 1 "), out.count("\nquery 2 ")) == (0, 1, 1)
    assert err == f"skipped {path}, line 12: the line is cut off\n"


def test_explain_of_a_long_list_of_damage_is_short(tmp_path: Path, answer: Answer) -> None:
    write_log(tmp_path / "app-1", query_lines(), [line(decided(), schemaVersion=5)] * 50)
    _, _, err = answer("explain", str(tmp_path))
    assert len(err.splitlines()) == 21
    assert err.splitlines()[-1] == "skipped 30 more"


def test_explain_of_a_foreign_file_is_an_error(tmp_path: Path, answer: Answer) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n")
    assert answer("explain", str(path)) == (4, "", f"{path}: not a Spark event log.\n")


def test_explain_of_an_empty_folder_is_an_error(tmp_path: Path, answer: Answer) -> None:
    code, _, err = answer("explain", str(tmp_path))
    assert code == 4
    assert (str(tmp_path) in err, "spark.eventLog.enabled" in err) == (True, True)


def test_explain_of_a_log_without_decisions_lists_possible_causes(tmp_path: Path, answer: Answer) -> None:
    path = write_log(tmp_path / "app-1", [])
    code, _, err = answer("explain", str(path))
    assert code == 4
    assert err.startswith(f"{path}: no decision of aqe-plugin in it.")
    assert "spark.aqePlugin.mode" in err


def test_explain_of_an_unknown_query_names_the_known_ones(tmp_path: Path, answer: Answer) -> None:
    code, _, err = answer("explain", str(write_log(tmp_path / "app-1")), "--query", "12")
    assert (code, "query 12" in err, "query 7" in err) == (4, True, True)
    many = write_log(tmp_path / "app-2", *(query_lines(number) for number in range(5, 9)))
    _, _, err = answer("explain", str(many), "--query", "12")
    assert err.endswith(" for query 12 in it; it has those of 4 queries from 5 to 8.\n")
    apart = write_log(tmp_path / "app-3", *(query_lines(number) for number in (3, 7, 14, 90)))
    _, _, err = answer("explain", str(apart), "--query", "12")
    assert err.endswith(" for query 12 in it; it has those of 4 queries from 3 to 90, the nearest 7 and 14.\n")


def test_explain_finds_what_a_command_ran_by_the_number_of_the_command(tmp_path: Path, answer: Answer) -> None:
    log = write_log(tmp_path / "app-1", *(query_lines(number) for number in (6, 7, 8)))
    for number in (7, 8):
        own, root = f'"rootExecutionId":{number}', '"rootExecutionId":5'
        log.write_bytes(log.read_bytes().replace(own.encode(), root.encode(), 1))
    code, out, _ = answer("explain", str(log), "--query", "5")
    headings = [line for line in out.splitlines() if line.startswith("query")]
    assert code == 0
    assert [one.partition("  ")[0] for one in headings] == ["query 7 (part of query 5)", "query 8 (part of query 5)"]
    assert answer("explain", str(log), "--query", "8")[1].startswith("query 8 (part of query 5)  ")
    assert answer("explain", str(log), "--query", "6")[1].startswith("query 6  ")


def test_explain_of_nothing_is_an_error(answer: Answer) -> None:
    assert answer("explain", "/no/such/log") == (4, "", "/no/such/log: no such file or folder.\n")


@pytest.mark.process
@pytest.mark.parametrize("words", ["explain {} --format json", "explain {}", "explain --help"])
@pytest.mark.parametrize("reader", ["head -n 1", "true"])
def test_a_reader_that_leaves_early_is_no_error(words: str, reader: str, tmp_path: Path) -> None:
    write_log(tmp_path / "app-1", *(query_lines(number) for number in range(300)))
    command = f"{sys.executable} -m aqe_plugin {words.format(tmp_path)} | {reader}; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (ran.returncode, len(ran.stdout.splitlines()), ran.stderr) == (0, int(reader != "true"), "")


# run


@pytest.mark.process
def test_run_without_a_checkpoint_serves_until_it_is_stopped(tmp_path: Path) -> None:
    write_log(tmp_path / "app-1", [line(ended(1, (replace(OUTCOME, rows_in=5),)))])
    command = [sys.executable, "-m", "aqe_plugin", "run", str(tmp_path), "--no-checkpoint", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = re.compile(r"http://127\.0\.0\.1:\d+/metrics")
        try:
            announced = next(found for said in process.stderr if (found := address.search(said)))
            assert next(said for said in process.stderr if "event logs read" in said)
            with urllib.request.urlopen(announced[0], timeout=10) as page:
                text = page.read().decode()
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
    assert 'aqe_plugin_filter_rows_in_total{kind="split_block_bloom"} 5.0' in text


def test_run_on_a_port_in_use_is_an_error(tmp_path: Path, answer: Answer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = answer("run", str(tmp_path), "--no-checkpoint", "--port", str(port))
        assert (code, out, str(port) in err) == (6, "", True)


def test_run_of_a_path_that_is_no_folder_is_an_error(answer: Answer) -> None:
    message = "/no/such/folder: no such folder; give the folder that spark.eventLog.dir names.\n"
    assert answer("run", "/no/such/folder", "--no-checkpoint") == (4, "", message)


# check


@pytest.mark.process
def test_a_check_without_java_names_the_fix(tmp_path: Path) -> None:
    ran = run("check", PATH=str(tmp_path), JAVA_HOME="")
    assert ran.returncode == 3
    assert "Java 17" in ran.stdout.splitlines()[0]


@pytest.mark.process
def test_a_check_reports_a_wrong_java_home(tmp_path: Path) -> None:
    ran = run("check", JAVA_HOME=str(tmp_path))
    assert f"failed  Java        JAVA_HOME is {tmp_path}, and there is no bin/java in it. " in ran.stdout


@pytest.mark.process
def test_a_check_reports_an_old_java(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("""#!/bin/sh\necho 'openjdk version "1.8.0_402"' >&2\n""")
    java.chmod(0o755)
    ran = run("check", JAVA_HOME=str(tmp_path))
    assert f"failed  Java        {java} is Java 8, and Spark 4 needs 17 or newer. " in ran.stdout


@pytest.mark.process
def test_a_check_has_a_line_for_each_check_and_looks_at_the_users_log(tmp_path: Path, answer: Answer) -> None:
    _, out, _ = answer("check", "--event-log", str(write_log(tmp_path / "app-1")))
    names = [row[8:18].strip() for row in out.splitlines()]
    assert names == ["Java", "PySpark", "jar", "classes", "event log", "application"[:10]]
    assert out.splitlines()[-2] == "ok      event log   1 readable, 1 decision in it"


@pytest.mark.process
def test_a_check_fails_when_the_users_log_cannot_be_read(tmp_path: Path, answer: Answer) -> None:
    code, out, _ = answer("check", "--event-log", str(tmp_path))
    assert code == 3
    assert out.splitlines()[-1].startswith(f"failed  event log   {tmp_path}: no event log in this folder. ")


@pytest.mark.process
def test_a_check_does_not_call_a_foreign_file_readable(tmp_path: Path, answer: Answer) -> None:
    (tmp_path / "a-note").write_text("hello\n")
    code, out, _ = answer("check", "--event-log", str(tmp_path))
    assert code == 3
    assert (out.splitlines()[-1][:6], f"{tmp_path}/a-note" in out.splitlines()[-1]) == ("failed", True)
    write_log(tmp_path / "app-1")
    code, out, _ = answer("check", "--event-log", str(tmp_path))
    assert code == 0
    assert "ok      event log   1 readable, 1 decision in it; 1 skipped, first: " in out


# the frame


def test_help_lists_every_command_and_the_exit_codes(answer: Answer) -> None:
    code, out, _ = answer("--help")
    assert code == 0
    assert all(command in out for command in ("explain", "check", "rollout", "path"))
    assert "Exit codes: 0 done, 1 a fault of aqe-plugin itself, 2 command line not understood" in " ".join(out.split())


def test_help_is_whole_on_a_narrow_terminal(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = {command: answer(*command.split(), "--help")[1] for command in ("", "run", "install", "rollout", "explain")}
    # Only what may be repeated, and a path in an example, have dots.
    assert not any(re.search(r"\w\.\.\.|\w\u2026", text.replace("logs...", "")) for text in told.values())
    for part in ("--history-running-every", "those below [rollout] in the settings file"):
        assert part in " ".join(told["run"].split())
    assert "(kubernetes:NAMESPACE/KIND/NAME)" in told["install"]
    assert "  Example: aqe-plugin explain /tmp/spark-events --query 7 --why\n" in told["explain"]
    assert "--yes  " in told["install"]


def test_an_option_that_stands_before_the_command_is_named(answer: Answer) -> None:
    code, _, err = answer("config", "--config", "x.toml")
    assert (code, "it stands before the command: aqe-plugin --config" in err) == (2, True)


def test_a_wrong_value_is_refused_with_the_option_and_the_limit(answer: Answer) -> None:
    for words, option, limit in (
        (("run", "x", "--port", "abc"), "--port", "integer"),
        (("rollout", "x", "--canary-share", "3"), "--canary-share", "0.999"),
    ):
        code, _, err = answer(*words)
        assert (code, option in err, limit in err) == (2, True, True), err


@pytest.mark.parametrize("command", ["explain", "check", "path", "config"])
def test_every_command_has_help(command: str, answer: Answer) -> None:
    code, out, _ = answer(command, "--help")
    assert (code, "Usage:" in out) == (0, True)


def test_version_is_the_packages(answer: Answer) -> None:
    assert answer("--version") == (0, f"{__version__}\n", "")


@pytest.mark.process
def test_a_wrong_command_line_is_exit_code_2() -> None:
    ran = run("explian")
    assert (ran.returncode, "Traceback" in ran.stderr) == (2, False)


@pytest.mark.parametrize("words", ["install --mode aply", "explain log --format aply", "config --format aply"])
def test_a_value_that_is_not_among_the_choices_is_refused_with_them(words: str, answer: Answer) -> None:
    code, _, err = answer(*words.split())
    option = re.findall(r"--\w+", words)[-1]
    assert code == 2
    assert f"Invalid value for '{option}': 'aply' is not one of " in " ".join(err.replace("│", " ").split())


def test_a_wrong_spark_version_gives_one_line(answer: Answer) -> None:
    code, out, err = answer("path", "jar", "--spark", "four")
    assert (out, len(err.splitlines())) == ("", 1)
    assert code in (3, 5)


def test_without_debug_there_is_no_traceback_and_with_it_there_is(answer: Answer) -> None:
    assert "Traceback" not in answer("explain", "/no/such/log")[2]
    for words in (("--debug", "explain", "/no/such/log"), ("explain", "/no/such/log", "--debug")):
        code, _, err = answer(*words)
        assert (code, "Traceback" in err, err.splitlines()[-1]) == (4, True, "/no/such/log: no such file or folder.")


def test_an_internal_fault_is_one_line_too(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("aqe_plugin.cli.explain.queries_of", broken)
    code, _, err = answer("explain", "x")
    assert (code, err) == (1, "ZeroDivisionError: by\\nzero (a fault of aqe-plugin; --debug shows where)\n")


def test_every_error_has_an_exit_code_that_help_and_manual_document(answer: Answer) -> None:
    def tree(error: type[AqePluginError]) -> list[type[AqePluginError]]:
        return [error, *(one for child in error.__subclasses__() for one in tree(child))]

    # 0, 1 and 2 need no error of ours: done, a fault, and a command line that typer does not understand.
    assert {error.exit_code for error in tree(AqePluginError)} | {0, 2} == set(EXIT_CODES)
    assert all(error.__doc__ for error in tree(AqePluginError))
    told = " ".join(answer("--help")[1].split())
    assert all(f"{code} {meaning}" in told for code, meaning in EXIT_CODES.items())
    manual = (Path(__file__).parents[3] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    codes = re.findall(r"^\| (\d+) \|", manual.split("## Exit codes")[1], re.MULTILINE)
    assert list(map(int, codes)) == list(EXIT_CODES)
    for code, meaning in EXIT_CODES.items():
        assert f"| {code} | {meaning}" in manual


def test_no_page_of_help_is_longer_than_a_screen(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    words = {one.words for one in settings_of(typer.main.get_command(app), {}, None)}
    pages = {page: answer(*page, "--help")[1] for page in [(), ("pipeline",), *words]}
    assert len(pages) > 15
    assert {page: out.count("\n") for page, out in pages.items() if out.count("\n") > 50} == {}


def test_help_lists_the_commands_by_what_they_are_for(answer: Answer) -> None:
    out = answer("--help")[1].splitlines()
    panels = [line for line in out if re.fullmatch(r"\w+:", line)]
    assert panels == ["Options:", "Try:", "Install:", "Watch:", "Tune:"]
    assert out[out.index("Try:") + 1].split()[0] == "check"


def test_run_asks_for_a_checkpoint_or_none_and_none_is_stronger_than_a_setting(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = answer("run", str(tmp_path))
    assert (code, "--no-checkpoint" in err) == (2, True)
    monkeypatch.setenv("AQE_PLUGIN__RUN__CHECKPOINT", str(tmp_path / "none" / "c.db"))
    code, _, err = answer("run", str(tmp_path), "--no-checkpoint", "--tune-every", "1")
    assert (code, "--checkpoint" in err) == (5, True)
    code, _, err = answer("run", str(tmp_path), "--no-checkpoint", "--checkpoint", str(tmp_path / "c.db"))
    assert (code, "not both" in err) == (2, True)


def test_a_jar_is_given_for_the_run_of_a_check_alone(tmp_path: Path, answer: Answer) -> None:
    code, _, err = answer("check", "--jar", str(tmp_path))
    assert (code, "--run" in err) == (2, True)


def test_a_daemon_that_would_tune_by_settings_that_are_not_allowed_does_not_start(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AQE_PLUGIN__ROLLOUT__CANARY_SHARE", "7")
    words = ("run", str(tmp_path), "--checkpoint", str(tmp_path / "c.db"), "--tune-every", "1", "--rollout")
    code, _, err = answer(*words)
    assert (code, "AQE_PLUGIN__ROLLOUT__CANARY_SHARE" in err) == (5, True)
