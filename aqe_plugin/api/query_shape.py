"""What a query's plan says of its answer: how its rows are ordered, and why they may be others in each run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

# Those whose result depends on chance, on the time, or on the order in which rows arrive.
_UNSTABLE = re.compile(
    r"\b(rand|randn|random|randstr|uniform|uuid|shuffle|monotonically_increasing_id|spark_partition_id|"
    r"current_timestamp|now|localtimestamp|current_time|first|first_value|last|last_value|any_value|collect_list|"
    r"collect_set|array_agg|listagg|string_agg|row_number|ntile|lag|lead|nth_value|mode|max_by|min_by|"
    r"percentile_approx|approx_percentile)\(",
    re.IGNORECASE,
)
_SECTION = re.compile(r"^== (.+) ==$", re.MULTILINE)
_NODE = re.compile(r"^[\s:|+-]*(?P<name>\w+) ?(?P<rest>.*)$")
# They keep the order of the rows below them; those before Project also keep all columns.
_ORDERLY = ("GlobalLimit", "LocalLimit", "Offset", "ReturnAnswer", "Project")
_COLUMN_KEY = re.compile(r"(?:, )?(?P<name>[^,\[\]()#]+)#\d+L? (?:ASC|DESC) NULLS (?:FIRST|LAST)")


@dataclass(frozen=True, slots=True)
class QueryShape:
    """A query, as far as its answer is concerned.

    Attributes:
        is_ordered: whether the query orders its rows.
        ordered_by: the first of its sort keys, as far as they are columns of the answer.
        limits_ordered: whether it takes the first of its ordered rows.
        unstable: in words, what lets Spark alone give other rows in each run.
        reads_cache: whether it reads a cached table, which neither side computes.
        is_command: whether it is the result of a command that has run.
    """

    is_ordered: bool = False
    ordered_by: tuple[str, ...] = ()
    limits_ordered: bool = False
    unstable: tuple[str, ...] = ()
    reads_cache: bool = False
    is_command: bool = False


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    rest: str


def shape_of(explained: str) -> QueryShape:
    """The shape of a query by its EXPLAIN EXTENDED, of which no list is cut off."""
    _, *parts = _SECTION.split(explained)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    analyzed = sections.get("Analyzed Logical Plan", "")
    nodes = _nodes(sections.get("Optimized Logical Plan", ""))
    functions = {match[1].lower() for match in _UNSTABLE.finditer(analyzed)}
    above, sort = _sort_below(nodes)
    return QueryShape(
        is_ordered=sort is not None,
        ordered_by=() if sort is None or "Project" in above else tuple(_column_keys(sort.rest)),
        limits_ordered=sort is not None and "GlobalLimit" in above,
        unstable=(*_chosen_rows(nodes), *(f"{name}()" for name in sorted(functions))),
        reads_cache=any(node.name == "InMemoryRelation" for node in nodes),
        is_command=any(node.name == "CommandResult" for node in _nodes(analyzed)),
    )


def _nodes(plan: str) -> list[_Node]:
    return [_Node(match["name"], match["rest"]) for match in map(_NODE.match, plan.splitlines()) if match]


def _sort_below(nodes: Sequence[_Node]) -> tuple[Sequence[str], _Node | None]:
    """The sort whose order the rows of the first node have, and the nodes above it, which have one child each."""
    above = [node.name for node in takewhile(lambda node: node.name in _ORDERLY, nodes)]
    below = nodes[len(above) : len(above) + 1]
    return above, next((node for node in below if node.name == "Sort"), None)


def _column_keys(sort: str) -> Iterator[str]:
    """The names of the leading keys of a sort that are columns."""
    at = len("[")
    while match := _COLUMN_KEY.match(sort, at):
        yield match["name"]
        at = match.end()


def _chosen_rows(nodes: Sequence[_Node]) -> Iterator[str]:
    """What takes some rows of many, and does not say which."""
    limits = (nodes[at:] for at, node in enumerate(nodes) if node.name == "GlobalLimit")
    if any(_sort_below(below)[1] is None for below in limits):
        yield "LIMIT without ORDER BY"
    if any(node.name == "Sample" for node in nodes):
        yield "TABLESAMPLE"
