"""What counts as past of a change, and what it may be to blame for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aqe_plugin.events.model import PluginMode
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.tuning.fingerprint import fingerprint
from aqe_plugin.tuning.history import (
    DAY_MILLIS,
    Application,
    Failure,
    Fault,
    QueryHistory,
    Run,
    applications_since,
    history_of,
    new_errors,
)
from histories import history
from samples import DECISION, OUTCOME, PLANNED, ended, limited

STORY = QueryStory(
    "app-1", "nightly", 7, "q93", PluginMode.APPLY, 3400, (JoinStory(DECISION, (PLANNED,), (OUTCOME,)),), ended(), None
)


def run(application: str, at: int) -> Run:
    return Run("c", application, at, 1000, ())


def test_finished_queries_are_runs_failed_ones_failures_running_ones_neither() -> None:
    failed, running = replace(STORY, error="out of disk"), replace(STORY, ended=None)
    stopped = replace(failed, cancelled=True)
    found = history_of([STORY, failed, stopped, running])
    assert [one.duration_millis for one in found.runs] == [3400]
    failure = Failure(fingerprint(STORY), "app-1", 1_700_000_009_000)
    assert found.failures == (failure, replace(failure, cancelled=True))


def test_errors_of_the_plugin_count_also_where_it_decided_no_join() -> None:
    faulty = replace(STORY, ended=replace(ended(), errors=2))
    found = history_of([faulty, replace(faulty, joins=())])
    assert [(fault.fingerprint, fault.errors) for fault in found.faults] == [(fingerprint(STORY), 2), ("", 2)]
    assert len(found.runs) == 1


def test_applications_that_started_before_a_change_are_left_out_whenever_their_queries_ended() -> None:
    new, of_new = (
        Application("new", "nightly", "", 12),
        (run("new", 15), Failure("c", "new", 16), Fault("c", "new", 17, 1)),
    )
    old = Application("old", "nightly", "", 9)
    every = history(
        *(run("old", 15), Failure("c", "old", 16), Fault("c", "faulty", 9, 1), *of_new),
        applications={"old": old, "new": new},
    )
    assert applications_since(every, 10) == history(*of_new, applications={"new": new})
    assert applications_since(every, 12) == QueryHistory((), ())


def about(*stories: QueryStory) -> Application:
    (application,) = history_of(stories).applications
    return application


def test_an_application_is_known_by_its_name_its_first_query_and_the_join_decided_first() -> None:
    first = replace(STORY, execution_id=3, application_name="orders-2026-11-24 run_17", description="save at o.py:31")
    assert about(STORY, first).kind == "orders run save at o py"
    assert about(STORY, first) == about(first, STORY)
    assert about(STORY).first_join == "inner: sr_item_sk = ss_item_sk"
    assert about(replace(STORY, joins=())).first_join == ""


def test_an_application_started_when_its_log_says_or_its_first_query_did() -> None:
    assert about(replace(STORY, application_started_millis=5)).started_millis == 5
    later = replace(STORY, ended=replace(ended(), time_millis=1_800_000_000_000))
    assert about(later, STORY).started_millis == 1_700_000_009_000 - 3400
    open_ = replace(STORY, ended=None, duration_millis=None, last_event_millis=7)
    assert about(open_).started_millis == 7


@pytest.mark.parametrize(
    ("written", "started", "has_ended"),
    [
        (None, 10 * DAY_MILLIS, True),
        (10 * DAY_MILLIS, 10 * DAY_MILLIS - 1, False),
        (9 * DAY_MILLIS, 10 * DAY_MILLIS - 1, False),
        (9 * DAY_MILLIS - 1, 10 * DAY_MILLIS - 1, True),
        (10 * DAY_MILLIS, 9 * DAY_MILLIS - 1, True),
    ],
    ids=["log ended", "being written", "written a day ago", "written earlier", "old"],
)
def test_an_application_counts_as_ended_with_its_log_or_a_day_after_its_start_or_its_logs_last_change(
    written: int | None, started: int, has_ended: bool
) -> None:
    asked = replace(STORY, application_started_millis=started, log_written_millis=written)
    other = replace(STORY, application="another", last_event_millis=10 * DAY_MILLIS)
    found = {one.name: one.has_ended for one in history_of([asked, other]).applications}
    assert found == {"app-1": has_ended, "another": True}


def test_a_change_is_blamed_for_the_plugins_errors_in_queries_that_have_none_without_it() -> None:
    changed = QueryHistory((), (), (Fault("c", "a", 1, 2), Fault("d", "a", 2, 3)))
    assert new_errors(changed, QueryHistory((), ())) == 5
    assert new_errors(changed, QueryHistory((), (), (Fault("c", "b", 1, 1),))) == 3
    assert new_errors(QueryHistory((), ()), changed) == 0


def test_a_query_without_joins_is_no_evidence() -> None:
    limits_only = replace(STORY, joins=(), limits=(limited(),))
    found = history_of([limits_only, replace(limits_only, error="out of disk")])
    assert (found.runs, found.failures) == ((), ())
