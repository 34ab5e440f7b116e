"""The tables that the Scala side generates match the values that this side reads."""

from __future__ import annotations

import json
import types
from dataclasses import fields
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import aqe_plugin
from aqe_plugin import Mode
from aqe_plugin.conf.keys import MODE_KEY
from aqe_plugin.events import lines as events
from aqe_plugin.events import model
from aqe_plugin.events.json_values import words_of

PACKAGE = Path(aqe_plugin.__file__).parent
SCHEMA: dict[str, Any] = json.loads((PACKAGE / "events/event_schema.json").read_text(encoding="utf-8"))
OBJECTS = {schema["name"]: schema["fields"] for schema in SCHEMA["objects"]}


def schema_type(shape: Any) -> tuple[str, bool, list[str]]:
    """Type, whether it is required, and allowed values, as the schema writes them."""
    origin = get_origin(shape)
    if origin in (Union, types.UnionType):
        inner = next(option for option in get_args(shape) if option is not types.NoneType)
        return schema_type(inner)[0], False, schema_type(inner)[2]
    if origin is tuple:
        return schema_type(get_args(shape)[0])[0] + "[]", True, []
    if words := words_of(shape):
        return "text", True, list(words)
    scalars = {int: "integer", float: "number", str: "text", bool: "boolean"}
    return scalars.get(shape, shape.__name__), True, []


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_the_schema_is_of_the_version_that_is_read() -> None:
    assert SCHEMA["schemaVersion"] == events.SCHEMA_VERSION


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_each_object_of_the_schema_is_the_dataclass_of_that_name(name: str) -> None:
    shape = getattr(model, name)
    hints = get_type_hints(shape)
    ours = {camel_case(field.name): schema_type(hints[field.name]) for field in fields(shape)}
    # Reason codes, facts, kinds of work and sources are text here: an older Python half reads a newer plugin's log.
    sources = {"originRowsSource", "passRateSource", "rowsSource", "scanRowsSource"}
    open_texts = {"code", "fact", "filterObstacle", "work"} | sources
    theirs = {
        field["name"]: (
            field["type"],
            field["required"],
            [] if field["name"] in open_texts else field.get("values", []),
        )
        for field in OBJECTS[name]
        if (name, field["name"]) != ("JoinDecision", "schemaVersion")  # the event around it says the same
    }
    assert ours == theirs


def test_the_modes_are_those_of_the_conf_table() -> None:
    table = json.loads((PACKAGE / "conf/conf_table.json").read_text(encoding="utf-8"))
    (mode,) = [entry for entry in table["keys"] if entry["key"] == MODE_KEY]
    assert mode["allowed"] == f"one of {', '.join(get_args(Mode))}"
