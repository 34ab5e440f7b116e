"""The Prometheus endpoint, as Prometheus' own parser reads it."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin import __version__
from aqe_plugin.errors import ConfError, EventLogError, PortInUseError
from aqe_plugin.events.describe import reason_meanings
from aqe_plugin.events.model import LimitOutcome, Reason
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.histogram import Histogram
from aqe_plugin.exporter.metrics import MetricType
from aqe_plugin.exporter.tally import Tally
from exporting import serve
from samples import DECISION, OUTCOME, PASSED_ALL, decided, ended, inferred, limited, line, query_lines, write_log
from scraping import scrape, value

CODES = frozenset(reason_meanings())
LABELS = {
    "application",
    "applied",
    "choice",
    "filter",
    "inferred_by",
    "kind",
    "mode",
    "outcome",
    "reason",
    "version",
    "waits",
}


def test_a_scrape_has_every_metric_with_its_type_and_help(tmp_path: Path) -> None:
    write_log(tmp_path / "app-1")
    with serve(str(tmp_path), 0) as port:
        families = scrape(port)
    ours = {name for name in families if not name.startswith("process_")}
    assert ours == {metric.name.removesuffix("_total") for metric in metrics.ALL}
    assert {"process_start_time_seconds", "process_resident_memory_bytes"} <= set(families)
    for metric in metrics.ALL:
        family = families[metric.name.removesuffix("_total")]
        assert (family.type, family.documentation) == (metric.type.value, metric.help)
        assert all(set(sample.labels) - {"le"} == set(metric.labels) for sample in family.samples)


def test_a_scrape_has_the_sums_of_all_logs(tmp_path: Path) -> None:
    broadcast = replace(DECISION, choice="broadcast")
    write_log(tmp_path / "app-1", query_lines(1), [line(decided(2, broadcast, "observe"))])
    spared = replace(OUTCOME, files_left_out=180, bytes_left_out=3 << 20)
    write_log(tmp_path / "app-2", [line(ended(1, (spared, PASSED_ALL)))])
    with serve(str(tmp_path), 0) as port:
        got = scrape(port)
    decisions = "aqe_plugin_join_decisions_total"
    assert value(got, decisions, choice="filtered_sort_merge", reason="CHEAPEST", mode="apply") == 1
    assert value(got, decisions, choice="broadcast", reason="CHEAPEST", mode="observe") == 1
    assert value(got, "aqe_plugin_queries_total") == 2
    assert value(got, "aqe_plugin_filters_planned_total") == value(got, "aqe_plugin_filters_applied_total") == 3
    assert value(got, "aqe_plugin_filters_not_applied_total") == 0
    assert value(got, "aqe_plugin_filters_total", kind="split_block_bloom") == 2
    assert value(got, "aqe_plugin_filters_passed_all_total", reason="BUILD_TIMEOUT") == 1
    assert value(got, "aqe_plugin_filter_rows_in_total", kind="split_block_bloom") == 57_600_000
    assert value(got, "aqe_plugin_filter_rows_out_total", kind="pass_all") == 100
    assert value(got, "aqe_plugin_filter_files_left_out_total") == 180
    assert value(got, "aqe_plugin_filter_bytes_left_out_total") == 3 << 20
    assert value(got, "aqe_plugin_filter_wait_seconds_sum") == pytest.approx(0.077)
    assert value(got, "aqe_plugin_filter_wait_seconds_bucket", le="0.05") == 2
    assert value(got, "aqe_plugin_filter_wait_seconds_bucket", le="0.025") == 0
    assert value(got, "aqe_plugin_filter_build_seconds_count") == 2
    assert value(got, "aqe_plugin_rule_seconds_sum") == pytest.approx(0.07)
    assert value(got, "aqe_plugin_errors_total") == 0
    assert value(got, "aqe_plugin_exporter_files") == 2
    assert value(got, "aqe_plugin_applications_total") == 2
    assert value(got, "aqe_plugin_wait_decisions_total", waits="yes", reason="WAIT_PAYS") == 2
    assert value(got, "aqe_plugin_wait_predicted_saving_seconds_total") == pytest.approx(3.248)
    assert value(got, "aqe_plugin_wait_predicted_idle_seconds_total") == pytest.approx(0.08)
    assert value(got, "aqe_plugin_waits_ended_total", outcome="used") == 2
    assert value(got, "aqe_plugin_waits_ended_total", outcome="released") == 0
    assert value(got, "aqe_plugin_waited_seconds_total", outcome="used") == pytest.approx(0.077)
    assert value(got, "aqe_plugin_build_info", version=__version__) == 1


def test_a_scrape_has_the_limits_by_choice_and_reason_and_the_files_they_spared(tmp_path: Path) -> None:
    left = limited(2, "leave_to_spark")
    decision = replace(left.decision, reason=Reason("LIMIT_SOURCE", None, None, "", ""))
    not_on_a_scan = replace(left, decision=replace(decision, files_chosen=2000), outcome=None)
    unknown = replace(decision, reason=Reason("CODE_OF_TOMORROW", None, None, "", ""))
    observed = replace(limited(3), decision=unknown, mode="observe", applied=False)
    write_log(tmp_path / "app-1", [line(limited(1))], [line(not_on_a_scan)], [line(observed)])
    with serve(str(tmp_path), 0) as port:
        got = scrape(port)
    decisions = "aqe_plugin_limit_decisions_total"
    assert value(got, decisions, choice="fewest_files", reason="ENOUGH_ROWS", mode="apply") == 1
    assert value(got, decisions, choice="leave_to_spark", reason="LIMIT_SOURCE", mode="apply") == 1
    assert value(got, decisions, choice="leave_to_spark", reason="other", mode="observe") == 1
    assert value(got, "aqe_plugin_limit_files_total") == 4000
    assert value(got, "aqe_plugin_limit_files_left_out_total") == 1900
    assert value(got, "aqe_plugin_limit_rows_read_total") == 200_000


def test_a_scrape_has_the_inferred_predicates_by_how_they_follow(tmp_path: Path) -> None:
    write_log(tmp_path / "app-1", [line(inferred(1)), line(inferred(2)), line(inferred(3, applied=False))])
    with serve(str(tmp_path), 0) as port:
        got = scrape(port)
    predicates = "aqe_plugin_predicates_inferred_total"
    assert value(got, predicates, inferred_by="INEQUALITY", applied="yes") == 2
    assert value(got, predicates, inferred_by="INEQUALITY", applied="no") == 1


def test_predicted_and_measured_pass_rates_are_both_observed(tmp_path: Path) -> None:
    write_log(tmp_path / "app-1", query_lines(1), [line(ended(2))])
    with serve(str(tmp_path), 0) as port:
        got = scrape(port)
    measured = OUTCOME.rows_out / OUTCOME.rows_in
    assert value(got, "aqe_plugin_filter_predicted_pass_ratio_sum") == pytest.approx(DECISION.pass_rate)
    assert value(got, "aqe_plugin_filter_measured_pass_ratio_sum") == pytest.approx(measured)
    assert value(got, "aqe_plugin_filter_pass_error_ratio_sum") == pytest.approx(DECISION.pass_rate - measured)
    assert value(got, "aqe_plugin_filter_measured_pass_ratio_count") == 1


def test_the_next_scrape_counts_new_lines_once(tmp_path: Path) -> None:
    with serve(str(tmp_path), 0) as port:
        assert value(scrape(port), "aqe_plugin_queries_total") == 0
        running = write_log(tmp_path / "app-1.inprogress", query_lines(1))
        assert value(scrape(port), "aqe_plugin_queries_total") == 1
        with running.open("ab") as file:
            file.write(b"".join(query_lines(2)))
        assert value(scrape(port), "aqe_plugin_queries_total") == 2
        running.rename(tmp_path / "app-1")
        assert value(scrape(port), "aqe_plugin_queries_total") == 2


def test_a_planned_filter_that_was_not_applied_is_counted(tmp_path: Path) -> None:
    write_log(tmp_path / "app-1", [line(replace(ended(), planned=3, applied=1, errors=2))])
    with serve(str(tmp_path), 0) as port:
        got = scrape(port)
    assert value(got, "aqe_plugin_filters_not_applied_total") == 2
    assert value(got, "aqe_plugin_errors_total") == 2


def test_skipped_lines_and_files_are_counted_and_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("no log")
    write_log(tmp_path / "app-1", [line(ended(), schemaVersion=2)])
    with serve(str(tmp_path), 0) as port:
        assert value(scrape(port), "aqe_plugin_exporter_skipped_total") == 2
    assert (
        f'level=warning event=skipped log=notes.txt what="{tmp_path}/notes.txt: not a Spark' in capsys.readouterr().err
    )


def test_the_endpoint_stays_up_when_the_folder_disappears(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = write_log(folder / "app-1")
    with serve(str(folder), 0) as port:
        before = scrape(port)
        assert value(before, "aqe_plugin_queries_total") == 1
        assert value(before, "aqe_plugin_exporter_read_errors_total") == 0
        log.unlink()
        folder.rmdir()
        after = scrape(port)
    assert value(after, "aqe_plugin_queries_total") == 1
    assert value(after, "aqe_plugin_exporter_read_errors_total") == 1
    last_read = "aqe_plugin_exporter_last_read_timestamp_seconds"
    assert value(after, last_read) == value(before, last_read) == pytest.approx(time.time(), abs=60)


def test_a_port_in_use_is_an_error(tmp_path: Path) -> None:
    with (
        serve(str(tmp_path), 0) as port,
        pytest.raises(PortInUseError) as error,
        serve(str(tmp_path), port),
    ):
        pass
    assert (str(port) in str(error.value), "--port" in str(error.value)) == (True, True)


def test_an_address_of_another_machine_is_an_error(tmp_path: Path) -> None:
    refused = pytest.raises(ConfError, match=r"Cannot listen on 203\.0\.113\.7 port 0: ")
    with refused, serve(str(tmp_path), 0, "203.0.113.7"):
        pass


def test_control_characters_in_a_file_name_are_logged_as_escapes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "app\x1b]0;title\x07\n\u202egpj").write_text("foreign")
    with serve(str(tmp_path), 0):
        pass
    (found,) = (one for one in capsys.readouterr().err.splitlines() if "skipped" in one)
    assert "log=app\\x1b]0;title\\x07\\n\\u202egpj " in found
    assert found.isprintable()


def test_an_invalid_host_name_is_an_error(tmp_path: Path) -> None:
    refused = pytest.raises(ConfError, match=r"Cannot listen on nonsense\.\.host: not the name of a machine\.")
    with refused, serve(str(tmp_path), 0, "nonsense..host"):
        pass


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EventLogError) as error, serve(str(tmp_path / "nowhere"), 0):
        pass
    assert (f"{tmp_path}/nowhere" in str(error.value), "spark.eventLog.dir" in str(error.value)) == (True, True)


def test_names_end_in_base_units_and_labels_are_few() -> None:
    names = [metric.name for metric in metrics.ALL]
    assert len(set(names)) == len(names)
    for metric in metrics.ALL:
        assert re.fullmatch(r"aqe_plugin_[a-z]+(_[a-z]+)*", metric.name)
        assert metric.name.endswith("_total") == (metric.type is MetricType.COUNTER)
        assert metric.name.endswith(("_seconds", "_ratio")) or metric.type is not MetricType.HISTOGRAM
        assert not re.search(r"milli|micro|percent|kb|mb", metric.name)
        assert set(metric.labels) <= LABELS
        assert metric.help.endswith(".")


def test_reasons_with_a_sample_from_the_start_are_codes_of_the_plugin() -> None:
    assert set(metrics.PASS_ALL_REASONS) <= CODES


@given(st.lists(st.text(min_size=1), max_size=30))
def test_codes_and_kinds_of_a_hostile_log_add_no_label_values(texts: list[str]) -> None:
    tally = Tally()
    for text in texts:
        limit = limited()
        limit = replace(limit, decision=replace(limit.decision, reason=Reason(text, None, None, "", "")))
        tally.add("app-1", limit)
        tally.add("app-1", decided(decision=replace(DECISION, reason=Reason(text, None, None, "", ""))))
        tally.add("app-1", ended(outcomes=(replace(OUTCOME, kind=text),)))
    for metric in (metrics.DECISIONS, metrics.LIMIT_DECISIONS):
        assert {labels[1] for labels in tally.counts(metric)} <= CODES | {"other"}
    assert len(tally.counts(metrics.FILTERS)) <= len(metrics.KINDS) + 1


@given(st.lists(st.tuples(*[st.integers(-(2**70), 2**70)] * 5), max_size=10))
def test_no_count_ever_falls_or_becomes_nan(damage: list[tuple[int, ...]]) -> None:
    tally = Tally()
    before = counts(tally)
    for number, (rows_in, rows_out, millis, planned, errors) in enumerate(damage):
        outcome = replace(OUTCOME, rows_in=rows_in, rows_out=rows_out, wait_millis=millis, filter_bytes=rows_in)
        query = replace(ended(number, (outcome,)), duration_millis=millis, planned=planned, errors=errors)
        limit = limited(number)
        facts, read = replace(limit.decision.facts, files=rows_in), LimitOutcome(1, rows_out, None)
        limit = replace(limit, decision=replace(limit.decision, facts=facts, files_chosen=planned), outcome=read)
        for event in (decided(number), limit, query):
            tally.add("app-1", event)
        after = counts(tally)
        assert all(0 <= count <= after[key] < float("inf") for key, count in before.items())
        before = after


def counts(tally: Tally) -> dict[tuple[str, ...], float]:
    """Every sum of the tally, by metric and label values."""
    plain = [metric for metric in metrics.ALL if metric.type is MetricType.COUNTER]
    return {(metric.name, *labels): count for metric in plain for labels, count in tally.counts(metric).items()}


@given(st.lists(st.floats(0, 1000)))
def test_a_histogram_counts_each_observation_in_every_bucket_at_or_above_it(values: list[float]) -> None:
    histogram = Histogram.empty("seconds", metrics.SECONDS_BUCKETS)
    for observed in values:
        histogram.observe(observed)
    assert [(float(bound), count) for bound, count, *_ in histogram.buckets()] == [
        (bound, sum(one <= bound for one in values)) for bound in (*metrics.SECONDS_BUCKETS, float("inf"))
    ]
    assert histogram.sum == pytest.approx(sum(values))
