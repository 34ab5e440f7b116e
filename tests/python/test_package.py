"""The package as a whole: what importing it costs, and what it offers."""

from __future__ import annotations

import json
import subprocess
import sys

import aqe_plugin

PROBE = """
import json, sys, time
start = time.perf_counter()
import aqe_plugin
print(json.dumps({"seconds": time.perf_counter() - start, "modules": sorted(sys.modules)}))
"""

HEAVY = {"pyspark", "py4j", "typer", "rich", "prometheus_client", "structlog", "tenacity", "zstandard"}


def test_importing_it_is_quick_and_imports_nothing_heavy() -> None:
    runs = [json.loads(subprocess.check_output([sys.executable, "-c", PROBE])) for _ in range(3)]
    assert min(run["seconds"] for run in runs) < 0.050
    assert not HEAVY & set(runs[0]["modules"])


def test_every_exported_name_is_there_and_documented() -> None:
    for name in aqe_plugin.__all__:
        value = getattr(aqe_plugin, name)
        assert isinstance(value, str) or value.__doc__, name


def test_the_exported_names_are_the_whole_interface() -> None:
    assert set(aqe_plugin.__all__) <= set(dir(aqe_plugin))
    assert set(aqe_plugin.__all__) == set(aqe_plugin._HOME_OF)
    assert sorted(aqe_plugin.__all__) == aqe_plugin.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(aqe_plugin, "no_such_name")
