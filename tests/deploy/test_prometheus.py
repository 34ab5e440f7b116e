"""deploy/prometheus, as Prometheus' own programs take it."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from aqe_plugin.conf.keys import conf_keys, problem_of
from aqe_plugin.events.describe import reason_meanings
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.metrics import MetricType
from tests.deploy.prometheus_server import DEPLOY, PrometheusServer, promtool

RULES = sorted((DEPLOY / "prometheus" / "rules").glob("*.yml"))
RULE_TESTS = Path(__file__).with_name("alerts.test.yml")
RUNBOOK = DEPLOY.parent / "docs" / "troubleshoot.md"


def rules(key: str) -> list[dict[str, Any]]:
    """Every recording rule or alert."""
    files = [YAML(typ="safe").load(path) for path in RULES]
    return [rule for file in files for group in file["groups"] for rule in group["rules"] if key in rule]


ALERTS = rules("alert")
RECORDINGS = rules("record")


def names_in(expression: str) -> set[str]:
    """The metrics that a PromQL expression asks for."""
    return set(re.findall(r"\b(?:\w+:)?(?:aqe_plugin|process|up)\w*(?::\w+)?(?=[\[{ )]|$)", expression))


def test_prometheus_accepts_the_configuration_and_its_rules(programs: Path) -> None:
    said = promtool(programs, "check", "config", str(DEPLOY / "prometheus" / "prometheus.yml"))
    assert said.count("SUCCESS") == 2 + len(RULES)
    promtool(programs, "check", "rules", "--lint=all", "--lint-fatal", *map(str, RULES))


def test_each_alert_fires_when_it_must_and_not_otherwise(programs: Path) -> None:
    assert "SUCCESS" in promtool(programs, "test", "rules", str(RULE_TESTS))


def test_each_alert_has_a_test_in_which_it_fires() -> None:
    cases = [case for test in YAML(typ="safe").load(RULE_TESTS)["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == {alert["alert"] for alert in ALERTS}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_each_alert_has_a_description_a_severity_and_a_runbook(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert alert["annotations"]["summary"].endswith(".")
    page, _, anchor = alert["annotations"]["runbook_url"].partition("#")
    assert DEPLOY.parent / page == RUNBOOK
    headings = re.findall(r"^#+ (.*)$", RUNBOOK.read_text(), re.MULTILINE)
    assert anchor in {heading.lower().replace(" ", "-") for heading in headings}
    assert anchor == alert["alert"].lower()


@pytest.mark.parametrize("rule", [*ALERTS, *RECORDINGS], ids=lambda rule: str(rule.get("alert") or rule["record"]))
def test_each_rule_uses_existing_metrics(rule: dict[str, Any]) -> None:
    names = names_in(rule["expr"])
    there = offered() | {"up", "process_start_time_seconds"} | {recording["record"] for recording in RECORDINGS}
    assert names
    assert names <= there


def test_the_runbook_names_conf_keys_and_reasons_that_there_are() -> None:
    page = RUNBOOK.read_text()
    named = set(re.findall(r"spark\.aqePlugin\.\w+(?:\.\w+)*", page))
    groups = set(re.findall(r"spark\.aqePlugin\.\w+(?=\.\*)", page))
    assert groups <= {key.rsplit(".", 1)[0] for key in conf_keys()}
    assert not {key for key in named - groups if problem_of(key, "").startswith("unknown key")}
    codes = {word for word in re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", page) if not word.startswith("AQE_PLUGIN_")}
    assert codes <= set(reason_meanings())


def offered() -> set[str]:
    """The names under which Prometheus stores what the exporter offers."""
    plain = {metric.name for metric in metrics.ALL if metric.type is not MetricType.HISTOGRAM}
    histograms = {metric.name for metric in metrics.ALL if metric.type is MetricType.HISTOGRAM}
    return plain | {name + suffix for name in histograms for suffix in ("_bucket", "_sum", "_count")}


def test_prometheus_stores_every_metric_under_its_name_and_type(watched: PrometheusServer) -> None:
    types = {name: entries[0]["type"] for name, entries in watched.api("metadata").items()}
    for metric in metrics.ALL:
        # In OpenMetrics a counter's family has no _total.
        assert types[metric.name.removesuffix("_total")] == metric.type.value
    stored = set(watched.api("label/__name__/values"))
    assert offered() <= stored


def test_prometheus_has_the_numbers_of_the_logs(watched: PrometheusServer) -> None:
    assert one(watched, "sum(aqe_plugin_queries_total)") == 9
    assert one(watched, "sum(aqe_plugin_join_decisions_total)") == 50
    assert one(watched, 'sum(aqe_plugin_filters_total{kind="split_block_bloom"})') == 7
    assert one(watched, "sum(aqe_plugin_filters_not_applied_total)") == 1
    assert one(watched, 'aqe_plugin_filters_passed_all_total{reason="BUILD_TIMEOUT"}') == 1
    assert one(watched, 'aqe_plugin_application_queries_total{application="aqe-plugin bench"}') == 8


def test_the_exporter_has_few_series(watched: PrometheusServer) -> None:
    (scraped,) = watched.query('scrape_samples_scraped{job="aqe-plugin"}')
    assert int(scraped["value"][1]) < 1_000


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda rule: str(rule["record"]))
def test_each_recording_rule_has_a_number(watched: PrometheusServer, recording: dict[str, Any]) -> None:
    result = watched.wait_until(recording["record"])
    assert all(math.isfinite(float(sample["value"][1])) for sample in result)


def test_faults_in_a_log_raise_their_alerts(watched: PrometheusServer) -> None:
    for alert in ("AqePluginErrors", "AqePluginFilterNotApplied"):
        (raised,) = watched.wait_until(f'ALERTS{{alertname="{alert}", alertstate="firing"}}')
        assert raised["metric"]["severity"] == "warning"
    quiet = "AqePluginExporterDown|AqePluginLogFolderUnreadable|AqePluginLogsSkipped"
    assert not watched.query(f'ALERTS{{alertname=~"{quiet}", alertstate="firing"}}')


def test_an_exemplar_leads_from_a_bucket_to_its_query(watched: PrometheusServer) -> None:
    # The recorded queries ran when they ran, and their exemplars say so.
    found = watched.api(
        "query_exemplars", query="aqe_plugin_query_seconds_bucket", start="1600000000", end="1900000000"
    )
    labels = [exemplar["labels"] for series in found for exemplar in series["exemplars"]]
    assert {"local-1795992606959", "app-1"} >= {label["application_id"] for label in labels} != set()
    assert all(label["query"].isdigit() for label in labels)


def one(server: PrometheusServer, promql: str) -> float:
    (sample,) = server.query(promql)
    return float(sample["value"][1])
