"""Metrics of applications: a limited number of them, with printable names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.core import Exemplar, Timestamp

from aqe_plugin.events.lines import ApplicationStarted
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.tally import Tally
from exporting import serve
from samples import DECISION, FACTS, LOG_START, OUTCOME, decided, ended, line, query_lines, spark_line, write_log
from scraping import scrape, scrape_openmetrics, value


def test_runs_with_one_name_are_one_application(tmp_path: Path) -> None:
    write_log(tmp_path / "app-1", query_lines(1))
    write_log(tmp_path / "app-2", query_lines(1), query_lines(2))
    with serve(str(tmp_path), 0) as port:
        got = scrape(port)
    assert value(got, "aqe_plugin_application_queries_total", application="nightly") == 3
    assert value(got, "aqe_plugin_application_query_seconds_total", application="nightly") == pytest.approx(10.2)
    assert value(got, "aqe_plugin_application_rule_seconds_total", application="nightly") == pytest.approx(0.105)
    assert value(got, "aqe_plugin_application_filter_rows_in_total", application="nightly") == 3 * OUTCOME.rows_in
    chosen = {"application": "nightly", "choice": "filtered_sort_merge"}
    assert value(got, "aqe_plugin_application_join_decisions_total", **chosen) == 3


def test_ten_thousand_applications_are_as_many_series_as_a_hundred() -> None:
    tally = Tally(applications=100)
    series: list[int] = []
    for number in range(1, 10_001):
        log_name = f"app-{number:05}"
        add_application(tally, log_name, f"job {number}", number * 1000)
        if number in {100, 10_000}:
            series.append(sum(len(tally.counts(metric)) for metric in metrics.ALL))
    assert series[0] == series[1] < 2_000
    assert tally.counts(metrics.APPLICATIONS) == {(): 10_000}
    kept = {name for (name,) in tally.counts(metrics.APPLICATION_QUERIES)}
    assert kept == {f"job {number}" for number in range(9_901, 10_001)}


def test_the_latest_applications_are_kept_whatever_the_names_of_their_logs() -> None:
    tally = Tally(applications=2)
    for log_name, name, time_millis in (
        ("a", "new", 3000),
        ("b", "old", 1000),
        ("c", "newer", 4000),
        ("d", "older", 0),
    ):
        add_application(tally, log_name, name, time_millis)
    assert tally.counts(metrics.APPLICATION_QUERIES) == {("new",): 1, ("newer",): 1}


def add_application(tally: Tally, log_name: str, name: str, time_millis: int) -> None:
    """One application with one query, at that time."""
    started = ApplicationStarted(log_name, name, time_millis)
    join = replace(decided(1), time_millis=time_millis)
    query = replace(ended(1), time_millis=time_millis)
    for event in (started, join, query):
        tally.add(log_name, event)


def test_with_a_limit_of_zero_applications_get_no_metrics(tmp_path: Path) -> None:
    write_log(tmp_path / "app-1")
    with serve(str(tmp_path), 0, applications=0) as port:
        got = scrape(port)
    assert not got["aqe_plugin_application_queries"].samples
    assert value(got, "aqe_plugin_queries_total") == 1


def test_an_exemplar_names_the_query_behind_a_bucket(tmp_path: Path) -> None:
    write_log(tmp_path / "eventlog", query_lines(7))
    with serve(str(tmp_path), 0) as port:
        family = scrape_openmetrics(port)["aqe_plugin_query_seconds"]
    (bucket,) = [sample for sample in family.samples if sample.exemplar is not None]
    assert bucket.labels["le"] == "5.0"
    assert bucket.exemplar == Exemplar({"application_id": "app-1", "query": "7"}, 3.4, Timestamp(1_700_000_009, 0))


@pytest.mark.parametrize("name", ["\ud800", "a\x00b\x1b[31m", 'say "hi"\\\n', "\N{GRINNING FACE}" * 10_000, ""])
def test_any_application_name_becomes_a_printable_label_value(tmp_path: Path, name: str) -> None:
    start = spark_line("SparkListenerApplicationStart", **{"App Name": name, "App ID": name})
    (tmp_path / "log").write_bytes(LOG_START + start + line(decided()) + line(ended()))
    with serve(str(tmp_path), 0) as port:
        scrape_openmetrics(port)
        (sample,) = scrape(port)["aqe_plugin_application_queries"].samples
    assert 0 < len(sample.labels["application"]) <= 80
    assert sample.labels["application"].isprintable()


def test_impossible_numbers_count_as_zero(tmp_path: Path) -> None:
    assert FACTS.waiting is not None
    endless = replace(DECISION, facts=replace(FACTS, waiting=replace(FACTS.waiting, idle_millis=float("inf"))))
    damaged = replace(ended(), duration_millis=-(2**63), rule_millis=-5, planned=-3, applied=0)
    by_the_clock = replace(ended(8), duration_millis=2**62, rule_millis=0, planned=0, applied=0, outcomes=())
    larger = replace(ended(9), duration_millis=10**400)
    too_large = line(decided()).replace(b'"passRate":0.04', b'"passRate":1' + b"0" * 400)
    write_log(
        tmp_path / "app-1",
        [line(decided(decision=endless)), line(damaged), line(by_the_clock), line(larger), too_large],
    )
    with serve(str(tmp_path), 0) as port:
        got = scrape(port)
    assert value(got, "aqe_plugin_query_seconds_sum") == value(got, "aqe_plugin_rule_seconds_sum") == 0
    assert value(got, "aqe_plugin_filters_planned_total") == 0
    assert value(got, "aqe_plugin_wait_predicted_idle_seconds_total") == 0
    assert value(got, "aqe_plugin_exporter_skipped_total") == 2
