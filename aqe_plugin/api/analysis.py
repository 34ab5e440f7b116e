"""What the plugin decided for a frame that was run, and what that was worth."""

from __future__ import annotations

from dataclasses import dataclass

from aqe_plugin.api.tables import Shown, Table, html_of
from aqe_plugin.events.model import JoinDecision
from aqe_plugin.events.queries import QueryStory
from aqe_plugin.events.savings import Savings, savings_of
from aqe_plugin.render.query_text import COLUMNS, join_cells, plain, query_failure, query_heading, query_summary
from aqe_plugin.render.savings import head_of
from aqe_plugin.render.savings_page import plots_html

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

    @property
    def savings(self) -> Savings:
        """What the decisions saved and lost or, in mode observe, would have."""
        return savings_of(self.queries)

    def _repr_html_(self) -> str:
        head, *queries = self._tables()
        return html_of(head) + plots_html(self.savings) + html_of(*queries)

    def _tables(self) -> tuple[Table, ...]:
        if not self.queries:
            return (Table(f"{self.ran} {_NOTHING}"),)
        head = head_of(self.savings)
        return (Table(self.ran, ("", head.heading), head.rows), *(_table(query) for query in self.queries))


def _table(query: QueryStory) -> Table:
    rows = tuple(tuple(plain(cell) for cell in join_cells(join, query)) for join in query.joins)
    return Table(plain((*query_heading(query), *query_failure(query))), COLUMNS, rows, (plain(query_summary(query)),))
