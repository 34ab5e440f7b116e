"""The table of neighbours has a row for each outcome, and a failure is seen in it."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.neighbours.page import lines


def _case(inside: str = "", **told: str) -> str:
    properties = "".join(f'<property name="{name}" value="{value}"/>' for name, value in told.items())
    return f"<testcase><properties>{properties}</properties>{inside}</testcase>"


def test_ways_of_one_outcome_share_a_row_and_a_failure_has_its_own() -> None:
    cases = (
        _case(beside="Delta", version="4.4.0", way="before", filter="yes"),
        _case(beside="Comet", version="1.2.0", way="alone", filter="`FOREIGN_NODE`"),
        _case(beside="Delta", version="4.4.0", way="behind", filter="yes"),
        _case('<failure message="other rows&#10;than before"/>', beside="Delta", version="4.4.0", way="V2"),
        _case(),
    )
    suite = f'<testsuites><testsuite timestamp="2026-11-30T01:45:40">{"".join(cases)}</testsuite></testsuites>'
    first, _, *table = lines(ElementTree.fromstring(suite))
    assert "2026-11-30, `make neighbours`" in first
    assert table[2:] == [
        "| Comet | 1.2.0 | alone | same | `FOREIGN_NODE` |",
        "| Delta | 4.4.0 | before; behind | same | yes |",
        "| Delta | 4.4.0 | V2 | **fails** | other rows |",
    ]
