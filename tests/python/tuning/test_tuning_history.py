"""What counts as past of a change, and what it may be to blame for."""

from __future__ import annotations

from dataclasses import replace

from aqe_plugin.events.model import PluginMode
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.tuning.fingerprint import fingerprint
from aqe_plugin.tuning.history import Failure, QueryHistory, Run, applications_since, errors_of, history_of
from samples import DECISION, OUTCOME, PLANNED, ended, limited

STORY = QueryStory(
    "app-1", "nightly", 7, "q93", PluginMode.APPLY, 3400, (JoinStory(DECISION, (PLANNED,), (OUTCOME,)),), ended(), None
)


def run(application: str, at: int, errors: int = 0, fingerprint: str = "c") -> Run:
    return Run(fingerprint, application, at, 1000, errors, ())


def test_finished_queries_are_runs_failed_ones_failures_running_ones_neither() -> None:
    failed, running = replace(STORY, error="out of disk"), replace(STORY, ended=None)
    history = history_of([STORY, failed, running])
    assert [one.duration_millis for one in history.runs] == [3400]
    assert history.failures == (Failure(fingerprint(STORY), "app-1", 1_700_000_009_000),)


def test_applications_from_before_a_change_are_left_out() -> None:
    history = QueryHistory(
        (run("old", 5), run("old", 15), run("new", 15)), (Failure("c", "old", 16), Failure("c", "new", 16))
    )
    assert applications_since(history, 10) == QueryHistory((run("new", 15),), (Failure("c", "new", 16),))
    assert applications_since(history, 15) == QueryHistory((), ())


def test_a_change_is_blamed_for_new_failures_and_for_the_plugins_errors() -> None:
    changed = QueryHistory((run("a", 1, errors=2), run("a", 2)), (Failure("c", "a", 3), Failure("d", "a", 4)))
    assert errors_of(changed, QueryHistory((), ())) == 4
    assert errors_of(changed, QueryHistory((), (Failure("c", "b", 1),))) == 3
    assert errors_of(QueryHistory((run("a", 1),), ()), changed) == 0


def test_a_query_without_joins_is_no_evidence() -> None:
    limits_only = replace(STORY, joins=(), limits=(limited(),))
    assert history_of([limits_only, replace(limits_only, error="out of disk")]) == QueryHistory((), ())
