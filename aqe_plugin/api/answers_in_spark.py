"""The answers of one query in a session, by SQL and confs alone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from aqe_plugin.api.decided import decided_under, discard_rows, tagged
from aqe_plugin.api.explanation import explain_text
from aqe_plugin.api.query_shape import shape_of
from aqe_plugin.api.row_difference import Row
from aqe_plugin.api.same_rows import MOST_ROWS, Digest, Side
from aqe_plugin.api.session_confs import set_for_a_while
from aqe_plugin.api.task_times import processor_seconds_of
from aqe_plugin.conf.keys import MODE_KEY
from aqe_plugin.events.queries import QueryStory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# So many that one of ten million rows, when it differs, leaves a few thousand to look at.
_BUCKETS = 4096
# A plan with fewer in a list leaves out the others.
_FIELDS_IN_PLANS = "spark.sql.debug.maxToStringFields"
# Hashes of nested values pass over nulls too; void and variant have none.
_NESTED = ("array<", "struct<", "map<", "variant", "void")
_APPLIED = """
SELECT DISTINCT said FROM (
  SELECT execution_id, concat('limit of ', rows_wanted, ' rows', coalesce(concat(' on ', `table`), ''), ': ',
    files_chosen, ' of ', files, ' files read') AS said FROM aqe_limits() WHERE applied
  UNION ALL
  SELECT execution_id, concat('scan of ', `table`, ': ', predicate) FROM aqe_predicates() WHERE applied
) WHERE execution_id > {before} AND said IS NOT NULL ORDER BY said
"""
_LATEST = """
SELECT coalesce(max(id), -1) AS latest FROM
  (SELECT execution_id AS id FROM aqe_limits() UNION ALL SELECT execution_id FROM aqe_predicates())
"""


class AnswersInSpark:
    """The answers of ``frame``; each runs it anew, planned in the mode of its side, which is restored afterwards."""

    def __init__(self, frame: DataFrame) -> None:
        self._spark = frame.sparkSession
        self._before = self._spark.sql(_LATEST).collect()[0].latest
        with self._in_mode("off"):
            # Of a frame of its own: one that was planned keeps its plan, and with it the mode.
            shape = shape_of(explain_text(frame.select("*"), extended=True))
        # A frame may have two columns of one name.
        self._frame = frame.toDF(*(f"_{number}" for number in range(len(frame.columns))))
        self._types = dict(self._frame.dtypes)
        keys = tuple(takewhile(lambda key: frame.columns.count(key) == 1, shape.ordered_by))
        self._keys = [f"_{frame.columns.index(key)}" for key in keys]
        self.shape = replace(shape, ordered_by=keys)
        doubles = ", doubles to seven digits" if "double" in self._types.values() else ""
        self.checked = f"by a checksum of every column{doubles}"
        self._digested: dict[Side, DataFrame] = {}
        self._latest = self._tag = ""

    def digest(self, side: Side) -> Digest:
        # Sums of halves of the hash, which no number of rows makes overflow.
        halves = ("shiftright(hash, 32) AS high", "hash & 4294967295L AS low")
        hashed = self._frame.selectExpr(f"{self._hash} AS hash")
        summed = hashed.selectExpr(f"pmod(hash, {_BUCKETS}) AS bucket", "1L AS one", *halves).groupBy("bucket")
        self._digested[side] = frame = summed.sum("one", "high", "low")
        with self._run(side):
            return Digest({bucket: (rows, high, low) for bucket, rows, high, low in frame.collect()})

    def rows(self, side: Side, buckets: Sequence[int]) -> list[Row]:
        chosen = f"pmod({self._hash}, {_BUCKETS}) IN ({', '.join(map(str, buckets))})"
        frame = self._frame.where(chosen).selectExpr(*map(self._shown, self._types)).limit(MOST_ROWS)
        with self._run(side):
            return [tuple(row) for row in frame.collect()]

    def order(self, side: Side) -> list[Row]:
        with self._run(side):
            return [tuple(row) for row in self._frame.selectExpr(*map(self._shown, self._keys)).collect()]

    def seconds(self, side: Side) -> float:
        """How long a run takes whose rows are discarded, from the plan to the last row."""
        with self._run(side):
            begin = time.perf_counter()
            discard_rows(self._frame)
            return time.perf_counter() - begin

    def processor_seconds(self) -> float | None:
        return processor_seconds_of(self._spark, self._tag)

    def decided(self) -> tuple[QueryStory, ...]:
        """What was decided in the latest run with the plugin."""
        return decided_under(self._spark, self._latest)

    def applied(self) -> tuple[str, ...]:
        """In words, the limits and inferred predicates that have been applied in the application since the start."""
        return tuple(row.said for row in self._spark.sql(_APPLIED.format(before=self._before)).collect())

    def plan(self, side: Side) -> str:
        """The plans of the latest digest: in a classic session with what ran, in Spark Connect before it runs."""
        with self._in_mode(side):
            return explain_text(self._digested[side], extended=True)

    @property
    def _hash(self) -> str:
        # A hash passes over nulls, so (1, null) and (null, 1) would have the same.
        parts = (f"{self._hashed(name)}, {name} IS NULL" for name in self._types)
        return f"xxhash64({', '.join(parts)})"

    def _hashed(self, name: str) -> str:
        kind = self._types[name]
        if kind == "double":
            return f"CAST({name} AS FLOAT)"
        return self._text(name) if kind.startswith(_NESTED) else name

    def _shown(self, name: str) -> str:
        return name if self._types[name] == "double" else self._text(name)

    def _text(self, name: str) -> str:
        kind = self._types[name]
        if kind == "variant":
            return f"to_json({name})"
        if kind == "binary":
            return f"hex({name})"
        if kind.startswith("map<") and kind.count("map<") == 1 and "variant" not in kind:
            # Equal maps may have their entries in any order.
            return f"CAST(array_sort(map_entries({name})) AS STRING)"
        return f"CAST({name} AS STRING)"

    @contextmanager
    def _run(self, side: Side) -> Iterator[None]:
        with self._in_mode(side), tagged(self._spark, f"aqe-plugin compare, {side}") as tag:
            self._latest, self._tag = tag if side == "apply" else self._latest, tag
            yield

    @contextmanager
    def _in_mode(self, side: Side) -> Iterator[None]:
        with set_for_a_while(self._spark.conf, {MODE_KEY: side, _FIELDS_IN_PLANS: "100000"}, "compared"):
            yield
