"""What a frame's plan says of its joins, without running it."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

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
        lines: one for each join of the plan, in its order; then, if so, that the mode is observe, and which forced
            joins the plan does not have.
        plan: Spark's own EXPLAIN, with the plugin's filters at their scans.
    """

    lines: tuple[str, ...]
    plan: str

    def _tables(self) -> tuple[Table, ...]:
        return (Table("Nothing was run.", ("join",), tuple((line,) for line in self.lines)),)


def explained(frame: DataFrame) -> Explanation | None:
    """EXPLAIN of ``frame``; ``None`` when it has no section of the plugin. Threads may call it at the same time."""
    plan, found, section = explain_text(frame).partition(_SECTION)
    if not found:
        return None
    lines = section.partition(f"\n{_TITLE}")[0].splitlines()
    return Explanation(tuple(line.strip() for line in lines if line.strip()), plan.rstrip())


def explain_text(frame: DataFrame, *, extended: bool = False) -> str:
    """What EXPLAIN of ``frame`` prints."""
    with _own_output() as printed:
        frame.explain(extended)
    return printed.getvalue()


class _OwnOutput(io.StringIO):
    """Keeps what its thread writes until it is ended; everything else goes to ``others``."""

    def __init__(self, others: TextIO) -> None:
        super().__init__()
        self.others = others
        self.has_ended = False
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        is_own = not self.has_ended and threading.get_ident() == self._thread
        return super().write(text) if is_own else self.others.write(text)

    def flush(self) -> None:
        self.others.flush()


# sys.stdout is the process's, so what is held is too.
_REPLACING_STDOUT = threading.Lock()


@contextmanager
def _own_output() -> Iterator[_OwnOutput]:
    """What this thread prints. ``redirect_stdout`` would restore, of two threads, the output of the one that ended."""
    with _REPLACING_STDOUT:
        own = _OwnOutput(sys.stdout)
        sys.stdout = own
    try:
        yield own
    finally:
        own.has_ended = True
        with _REPLACING_STDOUT:
            while isinstance(sys.stdout, _OwnOutput) and sys.stdout.has_ended:
                sys.stdout = sys.stdout.others
