"""What counts as past of a change, and what it may be to blame for."""

from __future__ import annotations

from dataclasses import replace

from aqe_plugin.events.model import PluginMode
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.tuning.fingerprint import fingerprint
from aqe_plugin.tuning.history import (
    Failure,
    Fault,
    QueryHistory,
    Run,
    applications_since,
    history_of,
    new_errors,
)
from samples import DECISION, OUTCOME, PLANNED, ended, limited

STORY = QueryStory(
    "app-1", "nightly", 7, "q93", PluginMode.APPLY, 3400, (JoinStory(DECISION, (PLANNED,), (OUTCOME,)),), ended(), None
)


def run(application: str, at: int) -> Run:
    return Run("c", application, at, 1000, ())


def test_finished_queries_are_runs_failed_ones_failures_running_ones_neither() -> None:
    failed, running = replace(STORY, error="out of disk"), replace(STORY, ended=None)
    stopped = replace(failed, cancelled=True)
    history = history_of([STORY, failed, stopped, running])
    assert [one.duration_millis for one in history.runs] == [3400]
    failure = Failure(fingerprint(STORY), "app-1", 1_700_000_009_000)
    assert history.failures == (failure, replace(failure, cancelled=True))


def test_errors_of_the_plugin_count_also_where_it_decided_no_join() -> None:
    faulty = replace(STORY, ended=replace(ended(), errors=2))
    history = history_of([faulty, replace(faulty, joins=())])
    assert [(fault.fingerprint, fault.errors) for fault in history.faults] == [(fingerprint(STORY), 2), ("", 2)]
    assert len(history.runs) == 1


def test_applications_from_before_a_change_are_left_out() -> None:
    history = QueryHistory(
        (run("old", 5), run("old", 15), run("new", 15)),
        (Failure("c", "old", 16), Failure("c", "new", 16)),
        (Fault("c", "faulty", 9, 1), Fault("c", "new", 17, 1)),
    )
    after = QueryHistory((run("new", 15),), (Failure("c", "new", 16),), (Fault("c", "new", 17, 1),))
    assert applications_since(history, 10) == after
    assert applications_since(history, 15) == QueryHistory((), ())


def test_a_change_is_blamed_for_the_plugins_errors_in_queries_that_have_none_without_it() -> None:
    changed = QueryHistory((), (), (Fault("c", "a", 1, 2), Fault("d", "a", 2, 3)))
    assert new_errors(changed, QueryHistory((), ())) == 5
    assert new_errors(changed, QueryHistory((), (), (Fault("c", "b", 1, 1),))) == 3
    assert new_errors(QueryHistory((), ()), changed) == 0


def test_a_query_without_joins_is_no_evidence() -> None:
    limits_only = replace(STORY, joins=(), limits=(limited(),))
    assert history_of([limits_only, replace(limits_only, error="out of disk")]) == QueryHistory((), ())
