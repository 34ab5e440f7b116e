"""What a frame's plan says of its joins, without running it."""

from __future__ import annotations

import io
import sys
import threading
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqe_plugin.api.tables import Shown, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# As Spark titles the plugin's section of EXPLAIN, and any other section or part of the plan.
_SECTION = "== Extended Information (aqe-plugin) =="
_TITLE = "== "


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Shown):
    """What the plan says of each join: before the query runs, what its decision waits for; afterwards, the choice.

    Attributes:
        joins: a line for each join of the plan, in its order.
        plan: Spark's own EXPLAIN, with the plugin's filters at their scans.
    """

    joins: tuple[str, ...]
    plan: str

    def _tables(self) -> tuple[Table, ...]:
        return (Table("Nothing was run.", ("join",), tuple((line,) for line in self.joins)),)


def explained(frame: DataFrame) -> Explanation | None:
    """EXPLAIN of ``frame``; ``None`` when it has no section of the plugin."""
    with redirect_stdout(_OwnOutput()) as said:
        frame.explain()
    plan, found, section = said.getvalue().partition(_SECTION)
    if not found:
        return None
    lines = section.partition(f"\n{_TITLE}")[0].splitlines()
    return Explanation(tuple(line.strip() for line in lines if line.strip()), plan.rstrip())


class _OwnOutput(io.StringIO):
    """Keeps what this thread writes; what others write in the meantime goes where it would have gone."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()
        self._others = sys.stdout

    def write(self, text: str) -> int:
        return super().write(text) if threading.get_ident() == self._thread else self._others.write(text)
