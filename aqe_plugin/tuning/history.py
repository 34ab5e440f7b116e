"""What event logs hold of past queries: runs, failures, and who was there before a change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aqe_plugin.events.model import TrialArm
from aqe_plugin.events.queries import QueryStory
from aqe_plugin.tuning.cohorts import fingerprint
from aqe_plugin.tuning.runs import Run, run_of

__all__ = ["Failure", "History", "errors_of", "history_of", "on", "since"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A query that ended with an error; ``arm`` is the side of a trial that it was on."""

    cohort: str
    application: str
    at_millis: int
    arm: TrialArm | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The finished queries of some event logs; queries that still run are in neither."""

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]


def history_of(stories: Iterable[QueryStory]) -> History:
    """The history that ``stories`` tell."""
    runs, failures = [], []
    for story in stories:
        run = run_of(story)
        if run is not None:
            runs.append(run)
        elif story.error is not None and story.ended is not None:
            failures.append(Failure(fingerprint(story), story.application, story.ended.time_millis, story.arm))
    return History(tuple(runs), tuple(failures))


def on(history: History, arm: TrialArm | None) -> History:
    """What ran on that side of a trial, or where nothing was tried."""
    return History(
        tuple(run for run in history.runs if run.arm is arm),
        tuple(failure for failure in history.failures if failure.arm is arm),
    )


def since(history: History, at_millis: int) -> History:
    """What ran in applications of which nothing ended by ``at_millis``: they read a conf that was changed then."""
    old = {run.application for run in history.runs if run.at_millis <= at_millis}
    old |= {failure.application for failure in history.failures if failure.at_millis <= at_millis}
    return History(
        tuple(run for run in history.runs if run.application not in old),
        tuple(failure for failure in history.failures if failure.application not in old),
    )


def errors_of(changed: History, unchanged: History) -> int:
    """Errors a change may be to blame for: the plugin's own, and failures of shapes that do not fail without it."""
    fail_anyway = {failure.cohort for failure in unchanged.failures}
    failed = sum(failure.cohort not in fail_anyway for failure in changed.failures)
    return failed + sum(run.errors for run in changed.runs)
