"""``--format``: which a command knows, what each is, and what a wrong one is answered with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from aqe_plugin.cli.app import app
from aqe_plugin.cli.settings import settings_of
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.install.jars import PACKAGE_VERSION
from commands import Answer

EVERY = ("table", "json", "conf", "diff")
KNOWN = {
    "explain": ("table", "json"),
    "doctor": ("table", "json"),
    "verify": ("table", "json"),
    "install": EVERY,
    "status": ("table", "json", "conf"),
    "rollback": EVERY,
    "uninstall": EVERY,
    "history": ("table", "json", "diff"),
    "recommend": EVERY,
    "apply": ("table", "json"),
    "config": ("table", "json"),
}
THEIRS = "# theirs\nspark.plugins com.acme.P\nspark.secret pa$$\n"


@pytest.fixture
def jar(tmp_path: Path) -> str:
    path = tmp_path / f"aqe-plugin-spark-4.1-{PACKAGE_VERSION}.jar"
    path.touch()
    return str(path)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "spark-defaults.conf"
    path.write_text(THEIRS)
    return path


def test_each_command_knows_the_formats_that_make_sense_for_it() -> None:
    settings = settings_of(typer.main.get_command(app), {}, None)
    found = {one.command: tuple(kind.value for kind in type(one.value)) for one in settings if one.name == "format"}
    assert {name: found[name] for name in KNOWN} == KNOWN
    assert all(set(formats) <= set(EVERY) for formats in found.values())


@pytest.mark.parametrize(("command", "known"), KNOWN.items(), ids=KNOWN)
def test_a_format_that_makes_no_sense_is_refused_with_those_that_do(
    command: str, known: tuple[str, ...], answer: Answer
) -> None:
    for wrong in (*(one for one in EVERY if one not in known), "xml"):
        code, out, err = answer(command, "--format", wrong, "show")
        assert (code, out) == (2, "")
        assert all(f"'{one}'" in err for one in known)


def test_an_install_as_conf_prints_the_equivalent_lines(conf: Path, jar: str, answer: Answer) -> None:
    _, out, _ = answer("install", "--target", str(conf), "--jar", jar, "--format", "conf")
    assert out.splitlines() == [
        f"spark.jars {jar}",
        "spark.plugins com.acme.P,io.aqeplugin.AqePlugin",
        "spark.aqePlugin.mode observe",
    ]
    answer("install", "--target", str(conf), "--jar", jar, "--yes")
    done = parse_properties(conf.read_bytes(), "done").items()
    assert parse_properties(out.encode(), "shown").items().items() <= done.items()
    _, out, _ = answer("uninstall", "--target", str(conf), "--format", "conf")
    assert out.splitlines() == ["# spark.aqePlugin.mode goes", "# spark.jars goes", "spark.plugins com.acme.P"]


def test_a_status_as_conf_has_only_the_plugins_lines_of_the_file(conf: Path, jar: str, answer: Answer) -> None:
    assert answer("status", "--target", str(conf), "--format", "conf")[1] == ""
    answer("install", "--target", str(conf), "--jar", jar, "--yes")
    assert answer("status", "--target", str(conf), "--format", "conf")[1].splitlines() == [
        "spark.plugins io.aqeplugin.AqePlugin",
        f"spark.jars {jar}",
        "spark.aqePlugin.mode observe",
    ]


def test_a_history_as_diff_shows_removed_and_added_lines(conf: Path, jar: str, answer: Answer) -> None:
    answer("install", "--target", str(conf), "--jar", jar, "--yes")
    answer("rollback", "--target", str(conf), "--yes")
    lines = answer("history", "--target", str(conf), "--format", "diff")[1].splitlines()
    assert [line.split(",")[0] for line in lines if line.startswith("#")] == ["# install no. 1", "# rollback no. 2"]
    plugins = "spark.plugins com.acme.P"
    assert [line for line in lines if "spark.plugins" in line] == [
        f"-{plugins}",
        f"+{plugins},io.aqeplugin.AqePlugin",
        f"-{plugins},io.aqeplugin.AqePlugin",
        f"+{plugins}",
    ]
    assert "pa$$" not in "".join(lines)


@pytest.mark.process
def test_checks_as_json_are_those_of_the_table(answer: Answer) -> None:
    code, table, _ = answer("doctor", "--no-session")
    as_json = answer("doctor", "--no-session", "--format", "json")
    told = [json.loads(line) for line in as_json[1].splitlines()]
    assert as_json[0] == code
    assert [f"{one['verdict']:<8}{one['name']:<10}{one['found']}" for one in told] == table.splitlines()


def test_text_is_never_colored_wrapped_or_read_as_markup(tmp_path: Path, answer: Answer) -> None:
    path = tmp_path / f"{'long-' * 30}[red].conf"
    path.write_text("spark.aqePlugin.mode [bo\\u001bld]\n")
    told = json.loads(answer("status", "--target", str(path), "--format", "json")[1])
    assert told["file"] == str(path)
    assert answer("status", "--target", str(path), "--format", "conf")[1] == "spark.aqePlugin.mode [bo\\u001bld]\n"
