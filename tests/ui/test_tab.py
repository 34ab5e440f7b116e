"""The tab "Runtime filters" of Spark's UI in a real browser: of an application that runs, and in the History Server."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest
from pyspark import __version__

from tests.ui.browser import Browser, Page, read_page
from tests.ui.conftest import HOSTILE, LIMITED, History, Seen

pytestmark = pytest.mark.e2e

_QUERIES = "runtime-filter-queries"


def test_the_tab_lists_the_queries_newest_first(live: Seen) -> None:
    rows = live.queries.tables[_QUERIES]
    assert [row[1] for row in rows] == [HOSTILE, "a quiet query", LIMITED]
    assert int(rows[0][0]) > int(rows[1][0]) > int(rows[2][0])
    assert "Mode: apply" in live.queries.text
    assert "Queries: 3" in live.queries.text
    assert "Limits: 1, files not read: 1" in live.queries.text
    assert "Predicates across joins: 1" in live.queries.text
    assert "Filters: 2 of 2 applied" in live.queries.text
    assert "Rows removed: 199.8 k of 200.0 k checked, 99.9 %" in live.queries.text
    assert "Errors: 0" in live.queries.text


def test_the_page_of_a_query_shows_options_reasons_and_what_the_filter_did(live: Seen) -> None:
    options = live.query.tables["join-1-options"]
    assert options[0][2] == "yes"
    assert {row[2] for row in options[1:]} <= {"yes", "no"}
    assert all(row[3].split()[0].isupper() for row in options), "every option has a reason code"
    (filtered,) = live.query.tables["join-1-filters"]
    assert filtered[0].endswith("(key)")
    assert filtered[4:7] == ["100.0 k", "100", "99.9 k"]
    assert filtered[-1] == "applied"


def test_the_page_of_a_query_shows_its_limits_and_inferred_predicates(live: Seen) -> None:
    ((limit, table, choice, why, files, proven, *_),) = live.limited.tables["query-limits"]
    assert (limit, table, choice) == ("limit inside the query, 10 rows", "fact", "fewest files")
    assert "ENOUGH_ROWS: 50.0 k rows against 10 rows" in why
    assert (files, proven) == ("1 of 2", "50.0 k")
    (predicate,) = live.limited.tables["query-predicates"]
    assert (predicate[0], predicate[1], predicate[3]) == ("fact", "(value <= 3L)", "yes")
    assert predicate[2].startswith("INEQUALITY ")


def test_a_description_that_is_a_script_is_shown_and_not_run(
    live: Seen, replayed: tuple[Page, Page, Page, Page]
) -> None:
    for page in (live.queries, live.query, *replayed[:2]):
        assert HOSTILE in page.text
        assert page.title != "owned"
        assert page.title.startswith("tab - Runtime filters")


def test_the_sql_tabs_page_of_the_query_is_one_link_away(live: Seen, replayed: tuple[Page, Page, Page, Page]) -> None:
    number = live.queries.tables[_QUERIES][0][0]
    for page in (live.sql, replayed[2]):
        assert page.title == f"tab - Details for Query {number}"


def test_the_history_server_shows_the_same_from_the_event_log_alone(
    live: Seen, replayed: tuple[Page, Page, Page, Page]
) -> None:
    queries, query, _, limited = replayed
    assert queries.tables == live.queries.tables
    assert query.tables == live.query.tables
    assert limited.tables == live.limited.tables


def test_a_log_of_another_version_of_the_plugin_costs_its_events_and_no_page(
    browser: Browser, history: History, live: Seen
) -> None:
    jobs = browser.open(f"{history.newer}/jobs/")
    assert "Completed Jobs" in jobs.text
    sql = browser.open(f"{history.newer}/SQL/")
    assert "SQL / DataFrame" in sql.text
    # From Spark 4.3 on a script of Spark's fills the table later.
    assert __version__ >= "4.3" or len(sql.tables["completed-table"]) >= len(live.queries.tables[_QUERIES])
    tab = browser.open(f"{history.newer}/runtime-filters/")
    assert "Events left out: 4, written by another version of the plugin" in tab.text
    assert _QUERIES not in tab.tables


def test_the_pages_show_everything_without_scripts(history: History, live: Seen) -> None:
    number = live.queries.tables[_QUERIES][0][0]
    for address, seen in (("/", live.queries), (f"/query/?id={number}", live.query)):
        with urllib.request.urlopen(f"{history.application}/runtime-filters{address}", timeout=30) as answer:
            sent = read_page(answer.read().decode())
        assert sent.tables == seen.tables
        assert sent.title == seen.title


def test_a_screenshot_of_the_tab_is_not_empty(browser: Browser, history: History, tmp_path: Path) -> None:
    picture, empty = tmp_path / "tab.png", tmp_path / "empty.png"
    browser.screenshot(f"{history.application}/runtime-filters/", picture, width=1400, height=500)
    browser.screenshot("about:blank", empty, width=1400, height=500)
    assert picture.stat().st_size > 5 * empty.stat().st_size
