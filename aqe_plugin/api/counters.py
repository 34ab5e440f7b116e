"""What the plugin counted in an application."""

from __future__ import annotations

from aqe_plugin.api.tables import Shown, Table


class Counters(Shown, dict[str, int]):
    """Counts by name, as in Spark's metrics system under ``plugin.io.aqeplugin.AqePlugin``; zeros are not shown."""

    def _tables(self) -> tuple[Table, ...]:
        rows = tuple((name, f"{count:,}") for name, count in self.items() if count)
        rest = f"{len(self) - len(rows)} others are 0."
        return (Table("Counted since the application started", ("name", "count"), rows, (rest,)),)
