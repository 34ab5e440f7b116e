"""One scrape of the exporter, read by Prometheus' own parser."""

from __future__ import annotations

import urllib.request

from prometheus_client import Metric as Family
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families


def scrape(port: int) -> dict[str, Family]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        text = answer.read().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def scrape_openmetrics(port: int) -> dict[str, Family]:
    """The same in the format that carries exemplars, which is the one that Prometheus asks for."""
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=accept)
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        text = answer.read().decode()
    families = openmetrics.text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return {family.name: family for family in families}


def value(families: dict[str, Family], name: str, **labels: str) -> float:
    family = families[name.removesuffix("_total").removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")]
    (sample,) = [one for one in family.samples if one.name == name and labels.items() <= one.labels.items()]
    return sample.value
