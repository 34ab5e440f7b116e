"""The pages that are mailed, in a real browser, as wide as a desk's screen and as a phone's."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from aqe_plugin.events.savings import savings_of
from aqe_plugin.logs.queries import read_queries
from aqe_plugin.pipeline.report_page import Summary, page
from samples import DECISION, FACTS, decided, ended, line, over, started, write_log
from tests.site.probe import look_at, served
from tests.ui.browser import Browser

pytestmark = pytest.mark.e2e

_RECORDED = Path(__file__).resolve().parents[1] / "deploy" / "recorded" / "tpcds.zstd"
_LONG = "a_name_without_any_place_to_break_it_" * 8


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of ``explain`` over a real log and over one with long names, and that of the pipeline over both."""
    folder = tmp_path_factory.mktemp("pages")
    decision = replace(DECISION, facts=replace(FACTS, keys=(f"{_LONG}.a = {_LONG}.b",)))
    lines = [started(1, _LONG), line(decided(1, decision)), over(1), line(ended(1))]
    logs = {"real": _RECORDED, "long": write_log(folder / "app-1", lines)}
    for name, log in logs.items():
        words = [sys.executable, "-m", "aqe_plugin", "explain", str(log), "--html", str(folder / f"{name}.html")]
        subprocess.run(words, check=True, capture_output=True)
    numbers = dict.fromkeys(("regretMillis", "savedMillis", "waitMillis", "observedMillis", "appliedMillis"), 12_345.6)
    row = {
        "date": date(2026, 11, 29),
        "join": _LONG,
        "joinConditions": _LONG,
        "mode": "apply",
        "joins": 2,
        "applied": 6,
    }
    totals = {"since": date(2026, 11, 28), "until": date(2026, 11, 29), "fingerprints": 3, "filtered": 4, "waited": 5}
    told = {**row, **totals, **numbers, "predictedPass": 0.1, "measuredPass": 0.2, "why": _LONG, "lines": 1, "logs": 1}
    savings = savings_of(story for log in logs.values() for story in read_queries(log))
    summary = Summary(savings, told, [told], [told], [told], [told], [told])
    (folder / "pipeline.html").write_text(page(summary, _LONG))
    return folder


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_scrolls_sideways(browser: Browser, pages: Path, width: int) -> None:
    with served(pages) as address:
        looked = look_at(browser, address, ["real.html", "long.html", "pipeline.html"], width)
    assert [one.heading for one in looked] == ["What the decisions of aqe-plugin were worth"] * 3
    assert [(one.page, one.sideways) for one in looked if one.sideways > 0] == []


@pytest.mark.parametrize("name", ["real", "pipeline"])
def test_a_page_begins_with_what_was_saved_and_draws_it(browser: Browser, pages: Path, name: str) -> None:
    seen = browser.open((pages / f"{name}.html").as_uri())
    assert seen.text.index("predicted by price") < seen.text.index("worth a look") < seen.text.index("Seconds by query")
    assert {"svg", "dl", "table"} <= seen.elements
    assert "script" not in seen.elements
