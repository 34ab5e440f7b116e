"""What the plugin decided for a query, to be looked at."""

from __future__ import annotations

from dataclasses import dataclass

from aqe_plugin.api.tables import Table, html_of, text_of
from aqe_plugin.events.model import JoinDecision
from aqe_plugin.events.queries import QueryStory
from aqe_plugin.render.query_text import COLUMNS, join_cells, plain, query_footing, query_heading

__all__ = ["Explanation"]

_NOTHING = "aqe_decisions() has no join of it: there is none, or the plugin left the query alone."


@dataclass(frozen=True, slots=True)
class Explanation:
    """The decisions of what was run: a table in a terminal and in a notebook, values for a program.

    Attributes:
        ran: what was run to know it.
        queries: what Spark ran for it, in order; empty when no decision is known.
    """

    ran: str
    queries: tuple[QueryStory, ...]

    @property
    def decisions(self) -> tuple[JoinDecision, ...]:
        """The decision for every join."""
        return tuple(join.decision for query in self.queries for join in query.joins)

    def __repr__(self) -> str:
        return text_of(*self._tables())

    def _repr_html_(self) -> str:
        return html_of(*self._tables())

    def _tables(self) -> tuple[Table, ...]:
        return (Table(self._note()), *(_table(query) for query in self.queries))

    def _note(self) -> str:
        return self.ran if self.queries else f"{self.ran} {_NOTHING}"


def _table(query: QueryStory) -> Table:
    rows = tuple(tuple(plain(cell) for cell in join_cells(join)) for join in query.joins)
    return Table(plain(query_heading(query)), COLUMNS, rows, (plain(query_footing(query)),))
