"""A simulated fleet with its conf files and event logs, and ``apply`` on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.conf.stores.file_store import Where
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.install.journal import Actor
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.history import Run
from commands import Answer
from fleet import DAY_MILLIS, Fleet, fleet_of, log_of

DEAR_BROADCASTS = (1.0, 1.0, 3.0, 1.0, 1.0, 1.0)


class Cluster:
    """A fleet, its conf files and its event logs, and a clock that goes with its days."""

    def __init__(self, folder: Path, truth: tuple[float, ...], seed: int = 0) -> None:
        self.fleet: Fleet = fleet_of(seed, truth, queries=12)
        self.target, self.canary = folder / "spark-defaults.conf", folder / "queue-a.conf"
        self.target.write_text("# ours\nspark.master yarn\n")
        self.canary.write_text("spark.master yarn\nspark.aqePlugin.mode apply\n")
        self.logs, self.canary_logs = folder / "events", folder / "canary-events"
        for made in (self.logs, self.canary_logs):
            made.mkdir()
        self.write(self.fleet.week(None))
        self.week()

    def thresholds(self, file: Where) -> dict[str, float]:
        return current(read_target(file).conf.items())

    def week(self) -> None:
        self.write(self.fleet.week(self.thresholds(self.target)))

    def week_with_canary(self, slowdown: float = 1.0, errors: int = 0, canary: Where | None = None) -> None:
        day = self.fleet.day
        self.week()
        self.fleet.day = day
        runs = self.fleet.week(self.thresholds(canary or self.canary))
        slowed = [replace(run, duration_millis=round(run.duration_millis * slowdown)) for run in runs]
        self.write(slowed, self.canary_logs, errors)

    def write(self, runs: list[Run], folder: Path | None = None, errors: int = 0) -> None:
        """An application each day; the last one with so many errors of the plugin."""
        days = sorted({run.at_millis for run in runs})
        for at in days:
            application = f"app-{at // DAY_MILLIS}"
            content = log_of([run for run in runs if run.at_millis == at], application, errors if at == days[-1] else 0)
            ((folder or self.logs) / application).write_bytes(content)

    def now(self) -> datetime:
        # Between the last day that was and the next.
        return datetime.fromtimestamp((self.fleet.day * DAY_MILLIS - DAY_MILLIS // 2) / 1000, timezone.utc)

    @contextmanager
    def replay(self) -> Iterator[Any]:
        yield self.fleet.replay


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(tmp_path, DEAR_BROADCASTS)
    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", made.replay)
    monkeypatch.setattr("aqe_plugin.cli.apply.actor", lambda why: Actor("ann@host", why, made.now))
    return made


def step(cluster: Cluster, answer: Answer, *words: str) -> dict[str, Any]:
    code, out, err = answer(
        "apply", str(cluster.logs), "--target", str(cluster.target), "--format", "json", "--yes", *words
    )
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def with_canary(cluster: Cluster) -> tuple[str, ...]:
    return ("--canary", str(cluster.canary), "--canary-log", str(cluster.canary_logs))
