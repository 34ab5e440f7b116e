"""What wide lines become on a terminal of 80 columns, and in a file."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from aqe_plugin.conf.changes import Change
from aqe_plugin.install.checks import Check
from aqe_plugin.render.checks import print_checks
from aqe_plugin.render.control import print_changes
from aqe_plugin.render.terminal import hanging

LONG = "it did not load the plugin, and neither does the conf that is checked, " * 2
JAR = "/opt/spark/jars/aqe-plugin-spark-4.1-0.1.0.jar"


def console(*, is_terminal: bool = True, width: int = 80) -> Console:
    return Console(file=StringIO(), width=width, force_terminal=is_terminal, color_system=None)


def shown(console: Console) -> list[str]:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_a_long_finding_goes_on_below_its_first_word() -> None:
    narrow = console()
    print_checks([Check("application", "failed", LONG), Check("mode", "ok", "apply")], "table", narrow)
    first, *rest, last = shown(narrow)
    assert max(map(len, (first, *rest))) <= 80
    assert first.startswith("failed  application it did not load")
    assert all(line[:20].isspace() and line[20] != " " for line in rest)
    assert " ".join(line[20:] for line in (first, *rest)).split() == LONG.split()
    assert last == "ok      mode        apply"


def test_what_goes_into_a_file_is_one_line_and_a_path_is_never_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert hanging(LONG, 20, console(is_terminal=False)) == LONG
    path = "/a/very/long/path" * 8
    assert path in hanging(f"see {path} there", 20, console())


@pytest.mark.parametrize(("width", "is_table"), [(80, False), (200, True)])
def test_changes_that_do_not_fit_as_a_table_are_a_paragraph_each(width: int, is_table: bool) -> None:
    screen = console(width=width)
    print_changes([Change("spark.jars", None, JAR, "gives the plugin's jar to driver and executors")], screen)
    found = shown(screen)
    assert any(JAR in line for line in found)
    assert max(map(len, found)) <= width
    assert (found[0] == "  spark.jars") != is_table
    assert ("    old  (not set)" in found) != is_table
