"""What the plugin counted since the application started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aqe_plugin.api.tables import Table, html_of, text_of

__all__ = ["Counters"]


class Counters(Mapping[str, int]):
    """Name → count, as Spark's metrics system has them under ``plugin.io.aqeplugin.AqePlugin``.

    A table in a terminal and in a notebook, of those that are not 0.
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return text_of(self._table())

    def _repr_html_(self) -> str:
        return html_of(self._table())

    def _table(self) -> Table:
        rows = tuple((name, f"{count:,}") for name, count in self._counts.items() if count)
        rest = f"{len(self) - len(rows)} others are 0."
        return Table("Counted since the application started", ("name", "count"), rows, (rest,))
