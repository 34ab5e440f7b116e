"""The pipeline's schemas and fingerprints are those of the package."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

import aqe_plugin
from aqe_plugin.events.fingerprint import fingerprint as python_fingerprint
from aqe_plugin.events.model import JoinDecided, JoinKind, LimitDecided, PredicateInferred, QueryEnded
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.pipeline.fingerprint import fingerprint, join_condition, join_conditions
from aqe_plugin.pipeline.schemas import members_of
from samples import (
    DECISION,
    FACTS,
    decided,
)

pytestmark = pytest.mark.spark

EVENT_SCHEMA = Path(aqe_plugin.__file__).with_name("events") / "event_schema.json"


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


@pytest.mark.parametrize("event", [JoinDecided, LimitDecided, PredicateInferred, QueryEnded])
def test_the_schemas_are_those_of_event_schema_json(spark: SparkSession, event: type) -> None:
    table = json.loads(EVENT_SCHEMA.read_text(encoding="utf-8"))
    assert_same_members(table, event.__name__, StructType.fromDDL(members_of(event)))


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
        [
            (dice.choice(get_args(JoinKind)), dice.choices(texts, k=dice.randint(1, 3)))
            for _ in range(dice.randint(0, 3))
        ]
        for _ in range(400)
    ]
    rows = [(at, [(kind, keys) for kind, keys in joins]) for at, joins in enumerate(queries)]
    frame = spark.createDataFrame(rows, "at int, joins array<struct<kind: string, keys: array<string>>>")
    joins = F.transform("joins", lambda join: join_condition(join["kind"], join["keys"]))
    fingerprints = frame.select("at", fingerprint(join_conditions(joins)).alias("fingerprint"))
    found = {row.at: row.fingerprint for row in fingerprints.collect()}
    for at, made in enumerate(queries):
        decisions = [replace(DECISION, facts=replace(FACTS, kind=kind, keys=tuple(keys))) for kind, keys in made]
        stories = tuple(JoinStory(decision, (), ()) for decision in decisions)
        story = QueryStory("a", "", at, "", decided().mode, 1, stories, None, None)
        assert found[at] == python_fingerprint(story), made
