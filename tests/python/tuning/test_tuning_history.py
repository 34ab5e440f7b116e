"""What counts as past of a change, and what it may be to blame for."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.events.fingerprint import fingerprint
from aqe_plugin.events.model import TrialArm
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.logs.queries import read_queries
from aqe_plugin.tuning.history import (
    DAY_MILLIS,
    Application,
    Failure,
    Fault,
    QueryHistory,
    applications_since,
    faulty,
    history_of,
    in_arm,
    new_errors,
)
from aqe_plugin.tuning.rollout.application_pairs import application_pairs
from aqe_plugin.tuning.runs import Run
from fleet import fleet_of, log_of
from histories import history
from samples import DECISION, OUTCOME, PLANNED, ended, limited

STORY = QueryStory(
    "app-1", "nightly", 7, "q93", "apply", 3400, (JoinStory(DECISION, (PLANNED,), (OUTCOME,)),), ended(), None
)


def run(application: str, at: int) -> Run:
    return Run("c", application, at, 1000, ())


def test_finished_queries_are_runs_failed_ones_failures_running_ones_neither() -> None:
    failed = replace(STORY, execution_id=8, error="out of disk")
    running = replace(
        STORY, execution_id=9, ended=None, duration_millis=None, log_written_millis=STORY.last_event_millis
    )
    stopped = replace(failed, execution_id=10, cancelled=True)
    found = history_of([STORY, failed, stopped, running])
    assert [one.duration_millis for one in found.runs] == [3400]
    failure = Failure(fingerprint(STORY), "app-1", 1_700_000_009_000)
    assert found.failures == (failure, replace(failure, cancelled=True))


@pytest.mark.parametrize("error", [None, "Job 7 cancelled because SparkContext was shut down"])
def test_a_query_that_has_no_end_is_a_failure_of_its_arm_once_its_log_has_ended(error: str | None) -> None:
    # Its driver died, or it hung until somebody ended the application.
    open_ = replace(STORY, ended=None, duration_millis=None, error=error, last_event_millis=7, decided_arm="canary")
    assert history_of([open_]).failures == (Failure(fingerprint(STORY), "app-1", 7, "canary"),)
    growing = replace(open_, log_written_millis=10 * DAY_MILLIS, last_event_millis=10 * DAY_MILLIS)
    idle = replace(STORY, application="another", last_event_millis=11 * DAY_MILLIS + 1)
    assert history_of([growing]).failures == ()
    assert len(history_of([growing, idle]).failures) == 1
    # Its log grows, but of the query itself nothing came for more than a day: it hangs.
    silent = replace(growing, last_event_millis=9 * DAY_MILLIS)
    assert history_of([silent]).failures == ()
    assert len(history_of([replace(silent, last_event_millis=9 * DAY_MILLIS - 1)]).failures) == 1
    assert history_of([replace(open_, joins=())]).failures == ()


@pytest.mark.parametrize("first", ["whole", "cut off"])
def test_a_query_whose_log_is_in_two_folders_counts_once_as_the_fuller_log_has_it(first: str) -> None:
    whole = replace(STORY, ended=replace(ended(), errors=2), last_event_millis=9)
    cut_off = replace(STORY, ended=None, duration_millis=None, last_event_millis=7)
    copies = [whole, cut_off, whole] if first == "whole" else [cut_off, whole, whole]
    found = history_of(copies)
    assert (len(found.runs), len(found.faults), found.failures) == (1, 1, ())
    failed = replace(STORY, error="out of disk")
    assert len(history_of([failed, failed]).failures) == 1
    # Ids of queries begin anew in another attempt, and in another application.
    attempts = [STORY, replace(STORY, application_started_millis=5), replace(STORY, application="another")]
    assert len(history_of([*attempts, *attempts]).runs) == 3


def test_a_query_of_which_only_the_plugins_end_is_lost_is_no_failure() -> None:
    assert history_of([replace(STORY, ended=None, error=None)]).failures == ()


def test_errors_of_the_plugin_count_also_where_it_decided_no_join() -> None:
    faulty = replace(STORY, ended=replace(ended(), errors=2))
    found = history_of([faulty, replace(faulty, execution_id=8, joins=())])
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
        (10 * DAY_MILLIS, 8 * DAY_MILLIS, False),
        (10 * DAY_MILLIS, 8 * DAY_MILLIS - 1, True),
    ],
    ids=["log ended", "being written", "written a day ago", "written earlier", "two days old", "old"],
)
def test_an_application_counts_as_ended_with_its_log_or_a_day_after_the_logs_last_change_or_two_after_its_start(
    written: int | None, started: int, has_ended: bool
) -> None:
    asked = replace(STORY, application_started_millis=started, log_written_millis=written)
    other = replace(STORY, application="another", last_event_millis=10 * DAY_MILLIS)
    found = {one.name: one.has_ended for one in history_of([asked, other]).applications}
    assert found == {"app-1": has_ended, "another": True}


@pytest.mark.parametrize("dies", [True, False], ids=["its driver dies", "it hangs and the log grows"])
@pytest.mark.parametrize("last_hour", [1, 12, 20, 24])
def test_an_open_query_of_the_first_day_is_a_failure_as_soon_as_its_application_counts_as_ended(
    dies: bool, last_hour: int
) -> None:
    hour, started = DAY_MILLIS // 24, 10 * DAY_MILLIS
    last = started + last_hour * hour
    taken_at = []
    for look in range(last_hour, 80):
        now = started + look * hour
        asked = replace(
            STORY,
            ended=None,
            duration_millis=None,
            application_started_millis=started,
            last_event_millis=last,
            log_written_millis=last if dies else now,
        )
        found = history_of([asked, replace(STORY, application="another", last_event_millis=now)])
        (application,) = (one for one in found.applications if one.name == "app-1")
        if application.has_ended:
            taken_at.append(look)
            assert len(found.failures) == 1, look
    assert taken_at == list(range(last_hour + 25 if dies else 49, 80))


def test_a_change_is_blamed_for_the_plugins_errors_in_queries_that_have_none_without_it() -> None:
    changed = history(Fault("c", "a", 1, 2), Fault("d", "a", 2, 3), Fault("", "a", 2, 4))
    assert new_errors(changed, frozenset()) == 9
    assert new_errors(changed, faulty(history(Fault("c", "b", 1, 1), Fault("", "b", 1, 1)))) == 7
    assert new_errors(history(), faulty(changed)) == 0


def test_a_query_without_joins_is_no_evidence() -> None:
    limits_only = replace(STORY, joins=(), limits=(limited(),))
    found = history_of([limits_only, replace(limits_only, execution_id=8, error="out of disk")])
    assert (found.runs, found.failures) == ((), ())


def test_a_canary_that_ends_its_drivers_fails_in_pairs_made_of_real_logs(tmp_path: Path) -> None:
    dice, fleet = random.Random(1), fleet_of(0, queries=3)
    dead = 0
    for number in range(60):
        tries = dice.random() < 0.3
        arm: TrialArm = "canary" if tries else "control"
        at_millis = 1_702_000_000_000 + number * DAY_MILLIS // 10
        runs = [replace(one, arm=arm, at_millis=at_millis) for one in fleet.week(None, runs=1)]
        lines = log_of(runs, f"app-{number}").splitlines(keepends=True)
        if tries:
            dead += 1
            path = tmp_path / f"app-{number}.inprogress"
            path.write_bytes(b"".join(lines[: next(at for at, one in enumerate(lines) if b"QueryEnded" in one)]))
            os.utime(path, times=(runs[0].at_millis / 1000,) * 2)
        else:
            (tmp_path / f"app-{number}").write_bytes(b"".join(lines))
    found = history_of(read_queries(tmp_path))
    pairs = application_pairs(in_arm(found, "canary"), in_arm(found, "control"), 100)
    assert 0 < len(pairs) <= dead
    assert {(pair.changed.failed, pair.unchanged.failed) for pair in pairs} == {(1, 0)}
