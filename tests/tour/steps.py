"""The tour of a new user, from an empty conf folder and back to it; each step is what a person would type.

install -> plain ``spark-submit`` -> Prometheus shows decisions -> a bad threshold on a canary -> the alert fires, the
canary goes back -> history tells why -> uninstall.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deploy.prometheus_server import PrometheusServer, prometheus_server
from tests.tour.shell import Shown, exporter, run, spark_home

__all__ = ["ALERT", "BAD_VALUES", "Clock", "Seen", "tour"]

# No filter is ready in a millisecond, so each lets every row through; no side is broadcast, so all are shuffled.
BAD_VALUES = ("spark.aqePlugin.filter.buildTimeout=1", "spark.aqePlugin.broadcast.maxMemoryBytes=0")
ALERT = "AqePluginFiltersPassAll"
# A comparison is a sequential test: eight pairs of applications of which the canary clearly loses all are the fewest
# that show it. Half of the applications are drawn for the canary, and the first of a process is slow as its classes are
# loaded.
_QUERIES = ("q93", "q50")
_APPLICATIONS = 20
_MOST_ROUNDS = 3
_APPLICATION = Path(__file__).with_name("application.py")


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds since 1970 of what happened."""

    first_query_ended: float
    first_query_scraped: float
    canary_began: float
    alert_fired: float
    rolled_back: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What the tour showed.

    Attributes:
        shown: step -> command and output.
        history: what ``aqe-plugin history`` knows of the rollout, oldest first.
        before: bytes of the conf file before the first install, ``None`` without a file; ``after`` at the end.
        tried: bytes of the conf file before the bad value, and after it went back.
        passing: points of (seconds since 1970, share of filters that let every row through).
    """

    shown: dict[str, Shown]
    history: list[dict[str, Any]]
    before: bytes | None
    after: bytes | None
    tried: tuple[bytes, bytes]
    clock: Clock
    passing: list[tuple[float, float]]


def tour(folder: Path, data: Path, prometheus: Path, report: Callable[[str], None]) -> Seen:
    """Takes the tour.

    Args:
        folder: an empty one for everything that is made.
        data: TPC-DS tables, large enough that a filter that is missing is felt.
        prometheus: the folder with Prometheus' programs.
        report: told each step, before it is taken.
    """
    home, conf = spark_home(folder / "spark"), folder / "spark" / "conf" / "spark-defaults.conf"
    before, events = _bytes(conf), folder / "events"
    events.mkdir()
    shown: dict[str, Shown] = {}

    def take(step: str, typed: str, **places: Path) -> Shown:
        words = [str(places.get(word.strip("<>"), word)) for word in typed.split()]
        report(f"{step}: aqe-plugin {typed}")
        shown[step] = run(f"aqe-plugin {typed}", [sys.executable, "-m", "aqe_plugin", *words])
        return shown[step]

    def submit(times: int) -> None:
        report(f"spark-submit, {times} applications of {' and '.join(_QUERIES)}")
        settings = ["--conf", f"spark.eventLog.dir={events.as_uri()}", "--conf", "spark.eventLog.enabled=true"]
        machine = ["--master", "local[2]", "--driver-memory", "3g", "--conf", "spark.sql.shuffle.partitions=4"]
        words = [str(home / "bin" / "spark-submit"), *machine, *settings, str(_APPLICATION), str(data)]
        run(
            "spark-submit",
            [*words, "nightly", str(times), *_QUERIES],
            {"SPARK_HOME": str(home), "SPARK_CONF_DIR": str(conf.parent)},
        )

    places = {"SPARK_HOME": home, "LOGS": events}
    with _watched(folder, prometheus, events) as server:
        take("install", "install --target <SPARK_HOME> --mode apply --yes", **places)
        take("check", "check --target <SPARK_HOME>", **places)
        submit(1)
        ended = time.time()
        scraped = _first_scrape(server)
        good = conf.read_bytes()
        asked = " ".join(f"--set {value}" for value in BAD_VALUES)
        take("bad value", f"rollout --target <SPARK_HOME> --canary-share 0.5 {asked} --yes", **places)
        began = time.time()
        for _ in range(_MOST_ROUNDS):
            submit(_APPLICATIONS)
            # Undecided, the rollout stays where it is, and the next nights say more.
            if "canary -> " in take("roll back", "rollout <LOGS> --target <SPARK_HOME> --yes", **places).plain:
                break
        report(f"alert: waiting for {ALERT}")
        fired = _first_firing(server)
        rolled_back, back = time.time(), conf.read_bytes()
        take("history", "history --target <SPARK_HOME>", **places)
        told = take("history json", "history --target <SPARK_HOME> --format json", **places)
        passing = _passing(server, began, time.time())
        take("uninstall", "uninstall --target <SPARK_HOME> --yes", **places)
    return Seen(
        shown=shown,
        history=[json.loads(line) for line in told.plain.splitlines() if line.startswith("{")],
        before=before,
        after=_bytes(conf),
        tried=(good, back),
        clock=Clock(ended, scraped, began, fired, rolled_back),
        passing=passing,
    )


@contextmanager
def _watched(folder: Path, programs: Path, events: Path) -> Iterator[PrometheusServer]:
    data = folder / "prometheus"
    data.mkdir()
    with (
        exporter(events) as port,
        prometheus_server(programs, data, port, alert_at_once=True) as server,
    ):
        server.wait_until("count(aqe_plugin_queries_total == 0) == 1")
        yield server


def _first_scrape(server: PrometheusServer) -> float:
    """When Prometheus first saw a query that was decided."""
    server.wait_until("aqe_plugin_queries_total > 0")
    series = server.query("aqe_plugin_queries_total[10m]")
    return min(float(at) for one in series for at, value in one["values"] if float(value) > 0)


def _first_firing(server: PrometheusServer) -> float:
    """When the alert first fired, which may be while the canary still runs."""
    firing = f'ALERTS{{alertname="{ALERT}", alertstate="firing"}}'
    server.wait_until(firing)
    return min(float(at) for one in server.query(f"{firing}[30m]") for at, _ in one["values"])


def _passing(server: PrometheusServer, begin: float, end: float) -> list[tuple[float, float]]:
    share = "sum(aqe_plugin_filters_passed_all_total) / sum(aqe_plugin_filters_total)"
    (series,) = server.api("query_range", query=share, start=f"{begin}", end=f"{end}", step="1")["result"]
    return [(float(at), float(value)) for at, value in series["values"]]


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None
