"""What the plugin counted since the application started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aqe_plugin.api.tables import Shown, Table


class Counters(Shown, Mapping[str, int]):
    """Counts by name, as in Spark's metrics system under ``plugin.io.aqeplugin.AqePlugin``; zeros are not shown."""

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def _tables(self) -> tuple[Table, ...]:
        rows = tuple((name, f"{count:,}") for name, count in self._counts.items() if count)
        rest = f"{len(self) - len(rows)} others are 0."
        return (Table("Counted since the application started", ("name", "count"), rows, (rest,)),)
