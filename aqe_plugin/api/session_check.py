"""Whether the plugin works in a running session, and what its confs say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqe_plugin.api.decided import run_and_read
from aqe_plugin.api.tables import Table, html_of, text_of
from aqe_plugin.conf.keys import PREFIX, problem_of
from aqe_plugin.install.session import Mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Check", "Checks", "checked_confs", "checked_join"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; ``found`` is what there is, or what is wrong with it."""

    name: str
    ok: bool
    found: str


@dataclass(frozen=True, slots=True)
class Checks:
    """What was looked at; a table in a terminal and in a notebook."""

    heading: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether all of it is in order."""
        return all(check.ok for check in self.checks)

    def __repr__(self) -> str:
        return text_of(self._table())

    def _repr_html_(self) -> str:
        return html_of(self._table())

    def _table(self) -> Table:
        rows = tuple(("ok" if check.ok else "wrong", check.name, check.found) for check in self.checks)
        return Table(self.heading, ("", "what", "found"), rows)


def checked_confs(confs: Mapping[str, str]) -> tuple[Check, ...]:
    """Every key of the plugin that is set, and what is wrong with it."""
    ours = sorted((key, value) for key, value in confs.items() if key.startswith(PREFIX))
    problems = [(key, value, problem_of(key, value)) for key, value in ours]
    return tuple(
        Check(key, not problem, f"{value}: {problem}" if problem else value) for key, value, problem in problems
    )


def checked_join(spark: SparkSession, mode: Mode) -> tuple[Check, ...]:
    """Runs a join of 100 rows in ``mode``, the session's own, and says whether it was decided and has its rows."""
    joined = _small_join(spark)
    count = joined.count()
    rows = Check("rows", count == _ROWS, f"{count} rows, {_ROWS} are right")
    if mode == "off":
        return (rows, Check("deciding", True, "the mode is off, nothing is decided"))
    decided = [join.decision for query in run_and_read(spark, joined) for join in query.joins]
    found = f"{len(decided)} decisions on its join" if decided else "its join was not decided"
    return (rows, Check("deciding", bool(decided), found))


_ROWS = 100


def _small_join(spark: SparkSession) -> DataFrame:
    """One key of a thousand, each of which has a hundred rows."""
    fact = spark.range(100_000).selectExpr("id % 1000 AS key", "id AS value")
    return fact.join(spark.range(1000).selectExpr("id AS key", "id AS name").where("name = 7"), "key")
