"""A simulated fleet with its conf and event logs, and ``rollout`` on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.install.journal import Actor
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.runs import Run
from commands import Answer
from fleet import DAY_MILLIS, Fleet, fleet_of, log_of

DEAR_BROADCASTS = (1.0, 1.0, 3.0, 1.0, 1.0, 1.0)


class Cluster:
    """A fleet, its conf and its event logs, and a clock that goes with its days."""

    def __init__(self, folder: Path, truth: tuple[float, ...], seed: int = 0) -> None:
        self.fleet: Fleet = fleet_of(seed, truth, queries=12)
        self.target, self.logs = folder / "spark-defaults.conf", folder / "events"
        self.target.write_text("# ours\nspark.master yarn\n")
        self.logs.mkdir()
        self.write(self.fleet.week(None))
        self.week()

    def thresholds(self, file: ConfStore) -> dict[str, float]:
        return current(read_target(file).conf.items())

    def week(self) -> None:
        self.write(self.fleet.week(self.thresholds(FileStore(self.target))))

    def write(self, runs: list[Run]) -> None:
        """An application each day."""
        for at in sorted({run.at_millis for run in runs}):
            application = f"app-{at // DAY_MILLIS}"
            (self.logs / application).write_bytes(log_of([run for run in runs if run.at_millis == at], application))

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
    monkeypatch.setattr("aqe_plugin.cli.rollout.actor", lambda why: Actor("ann@host", why, made.now))
    return made


def step(cluster: Cluster, answer: Answer, *words: str) -> dict[str, Any]:
    code, out, err = answer(
        "rollout", str(cluster.logs), "--target", str(cluster.target), "--format", "json", "--yes", *words
    )
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found
