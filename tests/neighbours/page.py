"""`python -m tests.neighbours.page REPORT` writes the table of docs/works-with.md from what `make neighbours` found."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

import pyspark

from monitoring.marked import with_marked

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "works-with.md"


def lines(report: ElementTree.Element) -> Iterator[str]:
    """The table: applications beside one neighbour with one outcome are a row."""
    day = next(suite.get("timestamp", "")[:10] for suite in report.iter("testsuite"))
    yield f"Spark {pyspark.__version__}, {day}, `make neighbours`:"
    yield ""
    yield "| Beside | Version | How | Rows | A filter fires |"
    yield "|---|---|---|---|---|"
    cases = [_case(case) for case in report.iter("testcase")]
    told = sorted((case for case in cases if case[0]), key=lambda case: case[0].lower())
    for (beside, version, outcome), ways in groupby(told, lambda case: (case[0], case[1], case[3])):
        yield f"| {beside} | {version} | {'; '.join(dict.fromkeys(way for _, _, way, _ in ways))} | {outcome} |"


def _case(case: ElementTree.Element) -> tuple[str, str, str, str]:
    told = {one.get("name", ""): one.get("value", "") for one in case.iter("property")}
    fault = next((fault for kind in ("failure", "error") for fault in case.iter(kind)), None)
    if fault is None:
        outcome = f"same | {told.get('filter', '')}"
    else:
        outcome = f"**fails** | {(fault.get('message') or 'no message').splitlines()[0][:100]}"
    return told.get("beside", ""), told.get("version", ""), told.get("way", ""), outcome


if __name__ == "__main__":
    root = ElementTree.parse(sys.argv[1]).getroot()
    _PAGE.write_text(with_marked(_PAGE.read_text(encoding="utf-8"), "neighbours", lines(root)), encoding="utf-8")
