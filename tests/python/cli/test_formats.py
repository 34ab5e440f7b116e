"""``--format``: which a command knows, what each is, and what a wrong one is answered with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest
import typer

from aqe_plugin import __version__
from aqe_plugin.cli.app import app
from aqe_plugin.cli.settings import settings_of
from commands import Answer

EVERY = ("table", "json", "conf", "diff", "patch")
KNOWN = {
    "explain": ("table", "json"),
    "check": ("table", "json"),
    "compare": ("table", "json"),
    "install": ("table", "json", "diff", "patch"),
    "rollback": ("table", "json", "diff", "patch"),
    "uninstall": ("table", "json", "diff", "patch"),
    "history": ("table", "json"),
    "recommend": ("table", "json", "conf"),
    "rollout": ("table", "json", "patch"),
    "config": ("table", "json"),
}


def test_each_command_knows_the_formats_that_make_sense_for_it() -> None:
    settings = settings_of(typer.main.get_command(app), {}, None)
    found = {one.command: get_args(one.option.type_descriptor.annotation) for one in settings if one.name == "format"}
    assert {name: found[name] for name in KNOWN} == KNOWN
    assert all(set(formats) <= set(EVERY) for formats in found.values())


@pytest.mark.parametrize(("command", "known"), KNOWN.items(), ids=KNOWN)
def test_a_format_that_makes_no_sense_is_refused_with_those_that_do(
    command: str, known: tuple[str, ...], answer: Answer
) -> None:
    for wrong in (*(one for one in EVERY if one not in known), "xml"):
        code, out, err = answer(command, "--format", wrong)
        assert (code, out) == (2, "")
        assert all(f"'{one}'" in err for one in known)


@pytest.mark.process
def test_checks_as_json_are_those_of_the_table(answer: Answer) -> None:
    code, table, _ = answer("check")
    as_json = answer("check", "--format", "json")
    told = [json.loads(line) for line in as_json[1].splitlines()]
    assert as_json[0] == code
    assert [f"{one['verdict']:<8}{one['name']:<12}{one['found']}" for one in told] == table.splitlines()


def test_text_is_never_colored_wrapped_or_read_as_markup(tmp_path: Path, answer: Answer) -> None:
    path = tmp_path / f"{'long-' * 30}[red].conf"
    path.write_text("spark.aqePlugin.mode [bo\\u001bld]\n")
    told = json.loads(answer("check", "--target", str(path), "--format", "json")[1].splitlines()[0])
    assert told["found"] == str(path)


def test_a_table_in_a_pipe_is_wrapped_only_where_columns_says_how_wide_it_is(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "spark-defaults.conf"
    conf.write_text(f"spark.jars {','.join(f'/opt/lib/acme-{number}.jar' for number in range(20))}\n")
    monkeypatch.delenv("COLUMNS")
    jar = f"local:///opt/aqe-plugin-spark-4.1-{__version__}.jar"
    _, proposed, _ = answer("install", "--target", str(conf), "--jar", jar)
    _, shown, _ = answer("config")
    row = next(line for line in proposed.splitlines() if line.strip().startswith("spark.jars "))
    assert (row.count("/opt/lib/acme-19.jar"), jar in row) == (2, True)
    rows = [line for line in shown.splitlines()[3:] if line.strip()]
    assert all(re.match(r" +[\w-]+\.[\w-]+ .* default ", line) for line in rows)
    monkeypatch.setenv("COLUMNS", "80")
    for narrow in (answer("install", "--target", str(conf), "--jar", "local:///opt/a.jar"), answer("config")):
        assert all(len(line) <= 80 for line in narrow[1].splitlines()[1:] if "/opt/lib/acme" not in line)
