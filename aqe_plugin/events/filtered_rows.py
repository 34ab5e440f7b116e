"""What the filters of a query's joins did to rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from aqe_plugin.events.model import FilterOutcome

FILTERS_WITHOUT_EFFECT = ("pass_all", "missing")


def worked_of(outcomes: Iterable[FilterOutcome]) -> tuple[FilterOutcome, ...]:
    """The outcomes of the filters that checked rows, or could have."""
    return tuple(outcome for outcome in outcomes if outcome.kind not in FILTERS_WITHOUT_EFFECT)


def shared_tables(joins: Iterable[Iterable[FilterOutcome]]) -> set[str]:
    """The tables of which filters of more than one of ``joins``, each given by those that worked, checked rows."""
    filters = Counter(table for worked in joins for table in {outcome.table for outcome in worked})
    return {table for table, number in filters.items() if number > 1}


def rows_reached(worked: Sequence[FilterOutcome]) -> tuple[int, int] | None:
    """The rows that came to these filters of a join and those that passed; ``None`` where no row was checked.

    Rows that no task checked, because it had paused the filter, passed.
    """
    checked = sum(outcome.rows_in for outcome in worked)
    if checked <= 0:
        return None
    unchecked = sum(outcome.rows_unchecked for outcome in worked)
    # A damaged log may have negative counts that cancel out.
    return max(checked + unchecked, 1), sum(outcome.rows_out for outcome in worked) + unchecked


def rows_measured(worked: Sequence[FilterOutcome], scan_rows: int, is_beside_others: bool) -> tuple[int, int] | None:
    """As :attr:`JoinStory.measured`, of the join that these filters belong to."""
    reached = rows_reached(worked)
    if reached is None:
        return None
    read, passed = reached
    scanned = max(read, scan_rows)
    return scanned, round(passed / read * scanned) if is_beside_others else passed
