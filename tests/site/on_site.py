"""The built site in a real browser, from a server of this machine and from the files alone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from site_pages.navigation import HOME, NAVIGATION
from tests.site.probe import Looked, look_at, served
from tests.ui.browser import Browser

pytestmark = pytest.mark.process

_ROOT = Path(__file__).resolve().parents[2]
_WIDTHS = [1280, 390]
# What a page loads by itself; where a link leads is the reader's choice.
_LOADED = re.compile(r"""(?:\bsrc|<link\b[^>]*?\bhref|url\(|@import\s)["'(= ]*((?:https?:)?//[^"' )>]+)""")


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as found:
        yield found


@pytest.fixture(scope="module")
def net_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("net") / "log.json"


@pytest.fixture(scope="module", params=_WIDTHS)
def looked(
    browser: Browser, site: Path, address: str, net_log: Path, request: pytest.FixtureRequest
) -> tuple[int, list[Looked]]:
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html") if "_static" not in path.parts)
    width: int = request.param
    return width, look_at(browser, address, pages, width, f"--log-net-log={net_log}")


def test_every_page_has_a_heading_and_none_scrolls_sideways(looked: tuple[int, list[Looked]]) -> None:
    _, pages = looked
    assert {HOME.name, *(entry.name for entries in NAVIGATION.values() for entry in entries)} <= {
        page.page.removesuffix(".html") for page in pages
    }
    assert [page.page for page in pages if not page.heading] == []
    assert [page for page in pages if page.sideways > 0] == []


def test_every_diagram_is_drawn(looked: tuple[int, list[Looked]]) -> None:
    _, pages = looked
    assert sum(page.diagrams for page in pages) > 0
    assert [page for page in pages if page.drawn != page.diagrams] == []


def test_no_request_leaves_the_machine(looked: tuple[int, list[Looked]], net_log: Path, address: str) -> None:
    asked = re.findall(r'"url":"((?:https?|wss?)://[^"]*)"', net_log.read_text())
    assert f"{address}/index.html" in asked
    assert {url for url in asked if urlsplit(url).hostname != "127.0.0.1"} == set()


def test_no_page_and_no_style_names_anything_of_another_machine_to_load(site: Path) -> None:
    files = [path for kind in ("html", "css") for path in site.rglob(f"*.{kind}")]
    found = {(path.name, url) for path in files for url in _LOADED.findall(path.read_text(encoding="utf-8"))}
    assert found == set()


@pytest.mark.parametrize("by", ["server", "file"])
def test_the_search_finds_a_reason(by: str, browser: Browser, site: Path, address: str) -> None:
    page = browser.open(f"{address if by == 'server' else site.as_uri()}/search.html?q=NOT_WORTH_WAITING")
    assert any(urlsplit(link).path.endswith("reference/reasons.html") for link in _results(page.links)), page.text


def test_who_comes_from_the_search_sees_what_was_searched_for(browser: Browser, address: str) -> None:
    (page,) = look_at(browser, address, ["reference/reasons.html?highlight=not_worth_waiting"], 1280)
    assert page.marked


def _results(links: dict[str, str]) -> list[str]:
    """Links that the search made: those of the navigation have no words to show on the page."""
    listed = {entry.title for entries in NAVIGATION.values() for entry in entries}
    return [link for text, link in links.items() if text not in listed]


@pytest.mark.parametrize("by", ["server", "file"])
def test_the_home_page_leads_everywhere(by: str, browser: Browser, site: Path, address: str) -> None:
    page = browser.open(f"{address if by == 'server' else site.as_uri()}/index.html")
    for entries in NAVIGATION.values():
        for entry in entries:
            assert page.links[entry.title] == f"{entry.name}.html"


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    shutil.copytree(_ROOT / ".build" / "site-pages", pages)
    with (pages / "reference" / "metrics.md").open("a") as page:
        page.write("\n[no page](no-such-page.md), [no heading](../tune.md#no-such-heading), [none here](#nor-this)\n")
    words = ["--quiet", "--fail-on-warning", "-b", "dummy", "-c", str(_ROOT / "python" / "site_pages")]
    command = [sys.executable, "-m", "sphinx", *words, str(pages), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT)
    assert done.returncode != 0
    for missing in ("no-such-page.md", "no-such-heading", "nor-this"):
        assert missing in done.stderr
