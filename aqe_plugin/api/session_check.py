"""Whether the plugin works in a running session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqe_plugin.api.decided import run_and_read
from aqe_plugin.api.tables import Shown, Table
from aqe_plugin.events.model import Mode
from aqe_plugin.install.checks import Check, deciding, right_rows, small_join

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, repr=False)
class Checks(Shown):
    """The checks of a session."""

    heading: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.ok for check in self.checks)

    def _tables(self) -> tuple[Table, ...]:
        rows = tuple((check.verdict, check.name, check.finding) for check in self.checks)
        return (Table(self.heading, ("verdict", "check", "finding"), rows),)


def join_checks(spark: SparkSession, mode: Mode) -> tuple[Check, Check]:
    """Runs a small join in ``mode``, the session's own: has it the right rows, and was it decided?"""
    joined = small_join(spark)
    decided = [] if mode == "off" else [join for query in run_and_read(spark, joined) for join in query.joins]
    foreign = (join.decision.reason.subject for join in decided if join.decision.reason.code == "FOREIGN_NODE")
    return right_rows(joined.count()), deciding(len(decided), mode, next(foreign, None) or "")


def joins_not_run(stopping: Sequence[Check]) -> tuple[Check, Check]:
    """The checks of :func:`join_checks` where ``stopping`` keeps every join from being decided."""
    why = f"not run because of {', '.join(check.name for check in stopping)}"
    return Check("rows", "not run", why), Check("deciding", "not run", why)
