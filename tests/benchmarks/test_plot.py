"""Charts are written as PNG and SVG, queries that were not finished left out of the ratios."""

from pathlib import Path

import pytest

from benchmarks.measure import QueryResult, Timing
from benchmarks.plot import plot_ratios, plot_seconds

# Where Matplotlib has no cache of the machine's fonts, its first import asks fontconfig's program for them.
pytestmark = pytest.mark.process

_FASTER = QueryResult("q93", (Timing("default", (8.0,), 1), Timing("plugin", (2.0,), 1)), {})
_SLOWER = QueryResult("q12", (Timing("default", (1.0,), 1), Timing("plugin", (1.2,), 1)), {})
_FAILED = QueryResult("q50", (Timing("default", (4.0,), 1), Timing("plugin", (), 0, "out of luck")), {})


def test_ratios_list_the_queries_that_both_finished_best_first(tmp_path: Path) -> None:
    png, svg = plot_ratios([_SLOWER, _FAILED, _FASTER], "default", "plugin", "title", tmp_path / "ratios")
    assert png.read_bytes().startswith(b"\x89PNG")
    drawn = svg.read_text()
    assert drawn.index("<!-- q93 -->") < drawn.index("<!-- q12 -->")
    assert "<!-- q50 -->" not in drawn
    assert "<!-- times faster than default -->" in drawn


def test_the_chart_of_seconds_labels_the_last_contender_with_its_speedup(tmp_path: Path) -> None:
    _, svg = plot_seconds([_FASTER, _FAILED], ["default", "plugin"], "title", tmp_path / "seconds")
    assert "<!-- 4.0x -->" in svg.read_text()
