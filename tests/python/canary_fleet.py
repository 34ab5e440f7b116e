"""A simulated fleet of applications that read one conf, a share of which tries what it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.conf.keys import CANARY_SET, CANARY_SHARE, PREFIX
from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.events.model import TrialArm
from aqe_plugin.install.journal import Actor
from aqe_plugin.tuning.groups import current
from drawing import draws
from fleet import DAY_MILLIS, Fleet, fleet_of, log_of

__all__ = ["BUILD_NANOS", "Applications", "applications"]

_APPLICATIONS_A_DAY = 4
BUILD_NANOS = f"{PREFIX}cost.hashBuildNanosPerRow"


class Applications:
    """A fleet whose applications each run every shape once, a conf that all of them read, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.fleet: Fleet = fleet_of(0, (1.0, 1.0, 3.0, 1.0, 1.0, 1.0), queries=12)
        self.target, self.logs = folder / "spark-defaults.conf", folder / "events"
        self.target.write_text(f"# ours\nspark.master yarn\n{BUILD_NANOS} 81\nspark.aqePlugin.mode apply\n# end\n")
        self.logs.mkdir()
        self.started = 0
        self.days(8, observed=True)
        self.days(8)

    def days(
        self,
        count: int,
        slowdown: float = 1.0,
        errors: dict[TrialArm, int] | None = None,
        own: float = 0.0,
        observed: bool = False,
    ) -> None:
        """Applications of so many days, as the conf says; ``slowdown`` of those with the values that are tried.

        Args:
            errors: of the plugin, in each application of a side.
            own: share of the applications whose users set a value themselves; those take ten times as long.
        """
        conf = read_target(FileStore(self.target)).conf.items()
        share, errors = float(conf.get(CANARY_SHARE, 0)), errors or {}
        tried = {PREFIX + key.removeprefix(CANARY_SET): conf[key] for key in conf if key.startswith(CANARY_SET)}
        plain = None if observed else current(conf)
        changed = current({**conf, **tried}) if tried else plain
        for _ in range(count):
            day = self.fleet.day
            for number in range(_APPLICATIONS_A_DAY):
                self.started += 1
                application = f"application_1763712000000_{self.started:04d}"
                arm: TrialArm | None = None
                if tried:
                    arm = "canary" if draws(application, share) else "control"
                if tried and own * _APPLICATIONS_A_DAY > number:
                    arm = "own"
                self.fleet.day = day
                runs = self.fleet.week(changed if arm == "canary" else plain, runs=1)
                times = {"canary": slowdown, "own": 10.0}.get(arm or "control", 1.0)
                made = [replace(run, arm=arm, duration_millis=round(run.duration_millis * times)) for run in runs]
                log = log_of(made, application, errors.get(arm, 0) if arm else 0)
                (self.logs / application).write_bytes(log)

    def now(self) -> datetime:
        # Between the last day that was and the next.
        return datetime.fromtimestamp((self.fleet.day * DAY_MILLIS - DAY_MILLIS // 2) / 1000, timezone.utc)

    @contextmanager
    def replay(self) -> Iterator[Any]:
        yield self.fleet.replay

    def conf(self) -> dict[str, str]:
        return dict(read_target(FileStore(self.target)).conf.items())


@pytest.fixture
def applications(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Applications:
    made = Applications(tmp_path)
    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", made.replay)
    monkeypatch.setattr("aqe_plugin.cli.rollout.actor", lambda why: Actor("ann@host", why, made.now))
    return made
