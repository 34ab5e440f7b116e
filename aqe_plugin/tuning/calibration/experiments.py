"""The tables and queries of a calibration, and the work by which the ways to run a query differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aqe_plugin.conf.keys import PREFIX, conf_keys
from aqe_plugin.tuning.groups import Group

LAUNCH = "cost.jobLaunchNanos"
_SHUFFLE_ROW = "cost.shuffleNanosPerRow"
_SHUFFLE_BYTE = "cost.shuffleNanosPerByte"
_SORT = "cost.sortNanosPerComparison"
_SCAN_BYTE = "cost.scanNanosPerByte"
_FILE_OPEN = "cost.fileOpenNanos"


def _multiplied() -> dict[str, tuple[str, ...]]:
    """Each ratio of an engine, and the prices that it multiplies."""
    found: dict[str, tuple[str, ...]] = {}
    for key in conf_keys().values():
        if key.scaled_by is not None:
            ratio = key.scaled_by.removeprefix(PREFIX)
            found[ratio] = (*found.get(ratio, ()), key.key.removeprefix(PREFIX))
    return found


# Beside an engine, the ratio that is measured in place of the prices that it multiplies.
_MULTIPLIED = _multiplied()

# Every key that has an experiment where Spark carries joins out. `tieRatio` is a tolerance, which no time tells.
MEASURED = (
    *(price for prices in _MULTIPLIED.values() for price in prices),
    _FILE_OPEN,
    "cost.hashMissNanosPerRow",
    "cost.collectNanosPerByte",
    "cost.broadcastNanosPerByte",
    "cost.filterHashNanosPerColumn",
    "cost.filterMissNanosPerRow",
    "cost.jobLaunchNanos",
)


def measured(beside_engine: bool) -> tuple[Group, ...]:
    """What a calibration measures: each has the name of a key, and the prices that move with it."""
    ratios = _MULTIPLIED if beside_engine else {}
    multiplied = {key for keys in ratios.values() for key in keys}
    prices = {key: (key,) for key in MEASURED if key not in multiplied}
    return tuple(Group(name, keys, name) for name, keys in (ratios | prices).items())


PLAIN = "plain_sort_merge"
FILTERED = "filtered_sort_merge"
BROADCAST = "broadcast"
HASHED = "shuffled_hash"
_ALL_OPTIONS = (PLAIN, FILTERED, HASHED, BROADCAST, "broadcast+filter")

_PROBE_ROWS_PER_KEY = 4
_NOTE_BYTES = 64
_PIECES_PER_SLOT = 64
_ROWS_PER_PIECE = 1000
# Of a row of two numbers in a shuffle: the bits of its nulls and 8 bytes a column; a string adds its length.
_NARROW_BYTES = 24
_WIDE_BYTES = _NARROW_BYTES + _NOTE_BYTES


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is read.

    Attributes:
        probe_rows: rows of the large table.
        slots: tasks that the cluster runs at once.
        partitions: of a shuffle.
    """

    probe_rows: int
    slots: int
    partitions: int

    @property
    def keys(self) -> int:
        """Rows of the build side's table, each with a key of its own; the large table has four rows a key."""
        return max(1, self.probe_rows // _PROBE_ROWS_PER_KEY)

    @property
    def pieces(self) -> int:
        """Files of the table that has many."""
        return _PIECES_PER_SLOT * self.slots

    @property
    def half(self) -> int:
        return max(1, self.probe_rows // 2)


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A table computed from row numbers; ``columns`` are SQL over ``id``, and ``files`` as many as are needed if 0."""

    name: str
    rows: int
    columns: tuple[str, ...]
    files: int = 0


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to run an experiment.

    Attributes:
        sql: with ``{table}`` for each table, which becomes its path.
        option: of the query's join, as ``spark.aqePlugin.force`` names it; ``None`` for a query without a join.
        work: by coefficient, the units of it that this way needs more than the first way, divided by the slots where
            they share them. Empty for a join, whose price says it.
    """

    name: str
    sql: str
    option: str | None = None
    work: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """Ways to the same answer, or without a join to the same read of tables."""

    name: str
    arms: tuple[Arm, ...]


def tables(sizes: Sizes) -> tuple[MadeTable, ...]:
    """Everything that the experiments read."""
    probe = (
        f"pmod(xxhash64(id, 1), {sizes.keys}) AS k",
        f"pmod(xxhash64(id, 1), {sizes.keys}) * 7 AS k2",
        f"pmod(xxhash64(id, 1), {sizes.keys}) * 13 AS k3",
        "id % 1000 AS v",
    )
    note = "concat(md5(cast(id AS string)), md5(cast(-id AS string)))"
    build = (
        "id AS k",
        "id * 7 AS k2",
        "id * 13 AS k3",
        f"pmod(xxhash64(id, 2), {sizes.keys}) AS tag",
        f"{note} AS pad",
    )
    return (
        MadeTable("probe", sizes.probe_rows, probe),
        MadeTable("half", sizes.half, probe),
        MadeTable("wide", sizes.half, (*probe, f"{note} AS note")),
        MadeTable("build", sizes.keys, build),
        MadeTable("whole", sizes.pieces * _ROWS_PER_PIECE, ("id AS k",), files=sizes.slots),
        MadeTable("pieces", sizes.pieces * _ROWS_PER_PIECE, ("id AS k",), files=sizes.pieces),
    )


def joins(sizes: Sizes) -> Iterator[Experiment]:
    """Joins, each forced to several options."""
    few, some, every = max(1, sizes.keys // 100), max(1, sizes.keys // 2), sizes.keys
    for name, join, options in (
        ("few keys", _Join("probe", few), _ALL_OPTIONS),
        ("half of the keys", _Join("probe", some), _ALL_OPTIONS),
        ("all keys", _Join("probe", every), _ALL_OPTIONS),
        ("few keys of half the rows", _Join("half", few), (PLAIN, FILTERED, BROADCAST)),
        ("wide probe rows", _Join("wide", few, "p.note"), (PLAIN, FILTERED, BROADCAST)),
        ("wide build rows", _Join("half", some, "b.pad"), (PLAIN, HASHED, BROADCAST)),
        ("three key columns", _Join("probe", every, key_columns=3), (PLAIN, FILTERED)),
    ):
        yield Experiment(name, tuple(Arm(option, join.sql, option) for option in options))


def scans_and_shuffles(sizes: Sizes, bytes_of: Mapping[str, int]) -> Iterator[Experiment]:
    """Queries without a join.

    Args:
        bytes_of: the bytes of the files of each table.
    """
    yield Experiment(
        "shuffles",
        (
            Arm("scan", "SELECT k, v FROM {probe}"),
            Arm(
                "shuffled",
                f"SELECT /*+ REPARTITION({sizes.partitions}, k) */ k, v FROM {{probe}}",
                work=_shuffled(sizes, sizes.probe_rows, _NARROW_BYTES),
            ),
            Arm(
                "sorted",
                f"SELECT * FROM (SELECT /*+ REPARTITION({sizes.partitions}, k) */ k, v FROM {{probe}}) SORT BY k, v",
                work={**_shuffled(sizes, sizes.probe_rows, _NARROW_BYTES), _SORT: _comparisons(sizes)},
            ),
        ),
    )
    yield Experiment(
        "wide shuffles",
        (
            Arm("scan", "SELECT k, note FROM {wide}"),
            Arm(
                "shuffled",
                f"SELECT /*+ REPARTITION({sizes.partitions}, k) */ k, note FROM {{wide}}",
                work=_shuffled(sizes, sizes.half, _WIDE_BYTES),
            ),
        ),
    )
    yield Experiment(
        "scans",
        (
            Arm("narrow", "SELECT count(k), count(k2), count(k3), max(v) FROM {half}"),
            Arm(
                "wide",
                "SELECT count(k), count(k2), count(k3), max(v), count(note) FROM {wide}",
                work={_SCAN_BYTE: max(0, bytes_of["wide"] - bytes_of["half"]) / sizes.slots},
            ),
        ),
    )
    yield Experiment(
        "files",
        (
            Arm("few", "SELECT count(k) FROM {whole}"),
            Arm(
                "many",
                "SELECT count(k) FROM {pieces}",
                work={_FILE_OPEN: (sizes.pieces - sizes.slots) / sizes.slots},
            ),
        ),
    )
    yield Experiment(
        "stages",
        (
            Arm("one shuffle", "SELECT count(v) FROM range(1000) AS t(v)"),
            Arm(
                "two shuffles",
                "SELECT count(v) FROM (SELECT DISTINCT v % 7 AS v FROM range(1000) AS t(v))",
                work={LAUNCH: 1.0},
            ),
            Arm(
                "three shuffles",
                "SELECT count(n) FROM (SELECT DISTINCT n FROM"
                " (SELECT v % 7 AS g, count(*) AS n FROM range(1000) AS t(v) GROUP BY v % 7))",
                work={LAUNCH: 2.0},
            ),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Join:
    """A join of a large table with as many rows of the build side as ``selected``; ``text`` is a string to read."""

    probe: str
    selected: int
    text: str = ""
    key_columns: int = 1

    @property
    def sql(self) -> str:
        equal = " AND ".join(f"p.{key} = b.{key}" for key in ("k", "k2", "k3")[: self.key_columns])
        read = f"sum(length({self.text}))" if self.text else "sum(p.v)"
        tables = f"{{{self.probe}}} p JOIN {{build}} b ON {equal}"
        return f"SELECT count(*), {read} FROM {tables} WHERE b.tag < {self.selected}"


def _shuffled(sizes: Sizes, rows: int, row_bytes: int) -> dict[str, float]:
    return {_SHUFFLE_ROW: rows / sizes.slots, _SHUFFLE_BYTE: rows * row_bytes / sizes.slots, LAUNCH: 1.0}


def _comparisons(sizes: Sizes) -> float:
    """Of a sort of the large table in each partition, a slot."""
    return sizes.probe_rows * math.log2(max(1.0, sizes.probe_rows / sizes.partitions)) / sizes.slots
