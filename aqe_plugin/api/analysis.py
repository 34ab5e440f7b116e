"""What the plugin decided for a frame that was run."""

from __future__ import annotations

from dataclasses import dataclass

from aqe_plugin.api.tables import Shown, Table
from aqe_plugin.events.model import JoinDecision
from aqe_plugin.events.queries import QueryStory
from aqe_plugin.render.query_text import COLUMNS, join_cells, plain, query_failure, query_heading, query_summary

_NOTHING = "AqePlugin.decisions() has no join of it. limits() has limits, predicates() predicates across joins."


@dataclass(frozen=True, slots=True, repr=False)
class Analysis(Shown):
    """The decisions for a frame that was run, as tables and as values.

    Attributes:
        ran: a sentence: what was run to find out.
        queries: the queries that Spark ran for the frame, in order; empty when no decision is known.
    """

    ran: str
    queries: tuple[QueryStory, ...]

    @property
    def decisions(self) -> tuple[JoinDecision, ...]:
        """The decision for every join."""
        return tuple(join.decision for query in self.queries for join in query.joins)

    def _tables(self) -> tuple[Table, ...]:
        note = self.ran if self.queries else f"{self.ran} {_NOTHING}"
        return (Table(note), *(_table(query) for query in self.queries))


def _table(query: QueryStory) -> Table:
    rows = tuple(tuple(plain(cell) for cell in join_cells(join)) for join in query.joins)
    return Table(plain((*query_heading(query), *query_failure(query))), COLUMNS, rows, (plain(query_summary(query)),))
