"""The package as a whole: what importing it costs, and what it offers."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_origin

import pytest

import aqe_plugin
from aqe_plugin import events

PROBE = "import json, sys, aqe_plugin; print(json.dumps(sorted(sys.modules)))"

HEAVY = {
    "kubernetes",
    "msgspec",
    "prometheus_client",
    "py4j",
    "pydantic",
    "pyspark",
    "rich",
    "ruamel",
    "structlog",
    "tenacity",
    "typer",
    "zstandard",
}


@pytest.mark.process
def test_importing_the_package_loads_no_heavy_module() -> None:
    loaded = set(json.loads(subprocess.check_output([sys.executable, "-c", PROBE])))
    assert not HEAVY & loaded
    assert {name for name in loaded if name.startswith("aqe_plugin.")} == set()


def test_every_exported_name_exists_and_is_documented() -> None:
    for name in aqe_plugin.__all__:
        value = getattr(aqe_plugin, name)
        assert isinstance(value, str) or get_origin(value) is Literal or value.__doc__, name


def test_the_exported_names_are_the_whole_interface() -> None:
    assert set(aqe_plugin.__all__) <= set(dir(aqe_plugin))
    assert sorted(aqe_plugin.__all__) == aqe_plugin.__all__


ANNOTATED_NAME = re.compile(r"[A-Za-z_]\w*")


def annotations_of(value: object) -> Iterator[tuple[str, object]]:
    """The annotations that a user of ``value`` meets, as written, each with what knows its names."""
    if inspect.isclass(value):
        yield from ((text, value) for text in inspect.get_annotations(value).values())
        members = [one for name, one in vars(value).items() if not name.startswith("_")]
        functions = [one.fget if isinstance(one, property) else one for one in members]
    else:
        functions = [value]
    for function in functions:
        if inspect.isfunction(function):
            yield from ((text, function) for text in inspect.get_annotations(function).values())


def test_every_type_that_a_query_of_a_log_leads_to_is_among_the_events() -> None:
    left, seen = ["QueryStory"], set[str]()
    while left:
        name = left.pop()
        seen.add(name)
        for text, owner in annotations_of(getattr(events, name)):
            known = vars(sys.modules[owner.__module__])
            found = [one for one in ANNOTATED_NAME.findall(text) if one in known]
            left += [one for one in found if known[one].__module__.startswith("aqe_plugin.") and one not in seen]
    assert seen > {"JoinStory", "JoinDecision", "Reason", "QueryEnded", "LimitDecided"}


def test_few_names_are_exported() -> None:
    assert len(aqe_plugin.__all__) <= 12


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(aqe_plugin, "no_such_name")


@pytest.mark.process
def test_the_wheel_carries_the_jars_the_tables_and_the_types(tmp_path: Path) -> None:
    root = Path(aqe_plugin.__file__).parents[1]
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(root / name, copy)
    shutil.copytree(root / "aqe_plugin", copy / "aqe_plugin", ignore=shutil.ignore_patterns("jars", "__pycache__"))
    (copy / "aqe_plugin" / "jars").mkdir()
    (copy / ".gitignore").write_text("aqe_plugin/jars/\n")
    jar = f"aqe_plugin/jars/aqe-plugin-spark-4.1-{aqe_plugin.__version__}.jar"
    (copy / jar).write_bytes(b"a jar")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=copy, check=True, capture_output=True
    )
    (wheel,) = (copy / "dist").glob("*.whl")
    assert wheel.name == f"aqe_plugin-{aqe_plugin.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as content:
        assert content.read(jar) == b"a jar"
        names = set(content.namelist())
    tables = ("VERSION", "py.typed", "conf/conf_table.json", "events/event_schema.json", "events/reason_codes.json")
    assert {f"aqe_plugin/{name}" for name in tables} <= names
