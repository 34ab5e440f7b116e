"""The browser, an application that ran with the plugin, and a History Server over its event log."""

from __future__ import annotations

import os
import re
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.programs import program_of
from tests.ui.browser import Browser, Page
from tests.ui.history_server import history_server

_ROOT = Path(__file__).resolve().parents[2]
_NEWER = "local-newer"
# Neither part has a join with equal keys, so no join is decided.
_LIMITED_QUERY = """
SELECT f.value FROM parquet.`{fact}` f JOIN parquet.`{dimension}` d ON f.value < d.name WHERE d.name < 5
UNION ALL SELECT value FROM (SELECT value FROM parquet.`{fact}` LIMIT 10)
"""

LIMITED = "a limit and a predicate"
HOSTILE = "</td><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> & 'q'"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a browser saw of an application that ran.

    Attributes:
        queries: the tab's first page.
        query: the page of its latest query.
        sql: the SQL tab's page of the same query, reached by the link on the latter.
        limited: the page of the query with a limit and an inferred predicate.
    """

    application: str
    logs: Path
    queries: Page
    query: Page
    sql: Page
    limited: Page


@dataclass(frozen=True, slots=True)
class History:
    """A History Server: the address of the application's UI, and that of its copy by another version of the plugin."""

    application: str
    newer: str


@pytest.fixture(scope="session")
def browser() -> Browser:
    """A real Chromium; where there is none, the tests that look through it are skipped."""
    return Browser(program_of(_ROOT / "project" / "chromium", os.environ))


@pytest.fixture(scope="session")
def live(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    from pyspark.sql import SparkSession

    import aqe_plugin

    folder = tmp_path_factory.mktemp("live")
    logs = folder / "events"
    logs.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.aqePlugin.test.openGates": "true",
    }
    builder = SparkSession.builder.master("local[2]").appName("tab").config(map=dict(settings))
    spark = aqe_plugin.configure(builder).getOrCreate()
    try:
        fact, dimension = (folder / "fact").as_uri(), (folder / "dimension").as_uri()
        spark.range(100_000).selectExpr("id % 1000 AS key", "id AS value").write.parquet(fact)
        spark.range(1000).selectExpr("id AS key", "id AS name").write.parquet(dimension)
        spark.sparkContext.setJobDescription(LIMITED)
        assert len(spark.sql(_LIMITED_QUERY.format(fact=fact, dimension=dimension)).collect()) == 20
        for description in ("a quiet query", HOSTILE):
            spark.sparkContext.setJobDescription(description)
            one = spark.read.parquet(dimension).where("name = 7")
            assert spark.read.parquet(fact).join(one, "key").select("value").count() == 100
        address = f"http://127.0.0.1:{urlsplit(spark.sparkContext.uiWebUrl or '').port}"
        _wait_for_the_ends(f"{address}/runtime-filters/")
        application = spark.sparkContext.applicationId
        return Seen(application, logs, *_visited(browser, address, "/jobs/"))
    finally:
        spark.stop()


def _visited(browser: Browser, address: str, start: str) -> tuple[Page, Page, Page, Page]:
    """The tab's pages, from a page of Spark's own by links alone."""

    def follow(page: Page, link: str) -> Page:
        target = page.links[link]
        return browser.open(target if target.startswith("http") else address + target)

    queries = follow(browser.open(address + start), "Runtime filters")
    rows = queries.tables["runtime-filter-queries"]
    newest = rows[0][0]
    query = follow(queries, newest)
    (limited,) = [row[0] for row in rows if row[1] == LIMITED]
    return queries, query, follow(query, f"execution {newest}"), follow(queries, limited)


def _wait_for_the_ends(url: str) -> None:
    """The UI hears of a query's end a little after the query's user does."""
    until = time.monotonic() + 60
    while True:
        with urllib.request.urlopen(url, timeout=10) as answer:
            page = answer.read().decode()
        if "/query/?id=" in page and "<td>running</td>" not in page:
            return
        assert time.monotonic() < until, page
        time.sleep(0.2)


@pytest.fixture(scope="session")
def history(live: Seen, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    (log,) = live.logs.iterdir()
    (live.logs / _NEWER).write_text(_of_a_newer_version(log.read_text(), live.application))
    with history_server(live.logs, tmp_path_factory.mktemp("history"), applications=2) as address:
        yield History(f"{address}/history/{live.application}", f"{address}/history/{_NEWER}")


def _of_a_newer_version(log: str, application: str) -> str:
    """The log as a plugin would have written it whose decisions have another form; query ends are as they were."""
    newer = log.replace(application, _NEWER)
    changed = re.sub(
        r'^\{"Event":"io\.aqeplugin\.tell\.(JoinDecided|LimitDecided|PredicateInferred)","schemaVersion":1,'
        r'"executionId":(\d+).*$',
        r'{"Event":"io.aqeplugin.tell.\1","schemaVersion":{"major":2},"executionId":"no. \2","decision":7}',
        newer,
        flags=re.MULTILINE,
    )
    assert changed != newer
    return changed


@pytest.fixture(scope="session")
def replayed(browser: Browser, history: History) -> tuple[Page, Page, Page, Page]:
    """The same pages, from the event log alone."""
    start = urlsplit(history.application)
    return _visited(browser, f"{start.scheme}://{start.netloc}", f"{start.path}/jobs/")
