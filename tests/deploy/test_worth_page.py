"""The panels of *Is it worth it*, drawn by our own page over a real Prometheus."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from monitoring.dashboards.fleet import FLEET
from monitoring.dashboards.worth import IS_IT_WORTH_IT
from monitoring.grafana import Panel, Query
from monitoring.worth_page import Line, Span, draw, lines_of, main
from tests.deploy.prometheus_server import PrometheusServer

SHARE = Panel("Rows removed", "Text.", (Query("x", "removed"),), "percentunit")
FAULTS = Panel("Faults", "Text.", (Query("x", "faults"),), width=16, bad_above=0)


def drawn(tmp_path: Path, *panels: tuple[Panel, list[Line]]) -> str:
    draw(panels, "Is it worth it", tmp_path / "page.svg")
    return (tmp_path / "page.svg").read_text()


def test_the_dashboard_begins_with_five_panels_to_watch() -> None:
    assert FLEET.rows[0] is IS_IT_WORTH_IT
    assert len(IS_IT_WORTH_IT.panels) == 5


@pytest.mark.parametrize("panel", IS_IT_WORTH_IT.panels, ids=lambda panel: str(panel.title))
def test_prometheus_gives_each_line_of_a_panel_its_points(watched: PrometheusServer, panel: Panel) -> None:
    now = time.time()
    lines = lines_of(panel, f"http://127.0.0.1:{watched.port}", "aqe-plugin", Span(now - 300, now, 1))
    assert [line.legend for line in lines] == [query.legend for query in panel.queries]
    assert all(math.isfinite(value) for line in lines for _, value in line.points)
    assert all(now - 301 <= at <= now + 1 for line in lines for at, _ in line.points)


def test_the_page_shows_the_savings_of_the_logs(watched: PrometheusServer) -> None:

    now = time.time()
    (panel,) = (one for one in IS_IT_WORTH_IT.panels if "saved" in one.title)
    saved, *_ = lines_of(panel, f"http://127.0.0.1:{watched.port}", "aqe-plugin", Span(now - 300, now, 1))
    assert max(value for _, value in saved.points) > 1


def test_the_whole_page_is_one_picture(watched: PrometheusServer, tmp_path: Path) -> None:
    main([f"http://127.0.0.1:{watched.port}/", str(tmp_path / "page.svg"), "--hours=0.1", "--scrape-seconds=1"])
    page = (tmp_path / "page.svg").read_text()
    for panel in IS_IT_WORTH_IT.panels:
        assert panel.title in page
        assert all(query.legend in page for query in panel.queries)
    assert "no data" not in page


def test_a_prometheus_that_knows_no_such_job_gives_a_page_without_data(
    watched: PrometheusServer, tmp_path: Path
) -> None:
    main([f"http://127.0.0.1:{watched.port}", str(tmp_path / "page.svg"), "--job=other"])
    assert (tmp_path / "page.svg").read_text().count("no data") == len(IS_IT_WORTH_IT.panels)


def test_an_address_where_nothing_answers_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["http://127.0.0.1:1", str(tmp_path / "page.svg")])
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("http://127.0.0.1:1: ")


def test_a_panel_without_a_series_says_so(tmp_path: Path) -> None:
    page = drawn(tmp_path, (SHARE, []), (FAULTS, [Line("faults", ((0.0, 0.0), (60.0, 0.0)))]))
    assert page.count("no data") == 1


@pytest.mark.parametrize(("faults", "red"), [((3.0, 0.0), 0), ((0.0, 3.0), 1)])
def test_a_panel_is_red_while_its_last_value_is_bad(tmp_path: Path, faults: tuple[float, float], red: int) -> None:
    page = drawn(tmp_path, (FAULTS, [Line("faults", tuple(enumerate(faults)))]))
    assert page.count("#e4572e") == red


def test_the_picture_is_the_same_for_the_same_figures(tmp_path: Path) -> None:
    panel = (SHARE, [Line("removed", ((0.0, 0.2), (60.0, 0.8)))])
    assert drawn(tmp_path, panel) == drawn(tmp_path, panel)


def test_a_span_asks_for_rates_over_at_least_four_scrapes() -> None:
    assert Span(0, 3600, 30).variables == {"$__rate_interval": "120s", "$__range": "3600s"}
    assert Span(0, 240 * 600, 30).variables["$__rate_interval"] == "630s"
