"""Which applications a rollout compares, by when they started and what the ledger knows."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random

import pytest

from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.events.model import TrialArm
from aqe_plugin.install.journal import Actor
from aqe_plugin.tuning.history import Application, Fault
from aqe_plugin.tuning.recommendation import Limits
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.rollout.application_pairs import Pair
from aqe_plugin.tuning.rollout.beginnings import begin_with_values
from aqe_plugin.tuning.rollout.ledger import RolloutStep
from aqe_plugin.tuning.rollout.next_steps import go_on, take, unfinished
from aqe_plugin.tuning.rollout.rings import Ring, RingLimits, advance
from aqe_plugin.tuning.rollout.rollouts import Rollouts, read_rollouts
from aqe_plugin.tuning.rollout.trial import Trial, observed
from aqe_plugin.tuning.runs import Run
from benchmarks.rollout_fleet import rollout_step
from histories import history

NOON = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
HOUR = 3_600_000
RATE, TIMEOUT = f"{PREFIX}filter.maxPassRate", f"{PREFIX}filter.buildTimeout"


def millis(hours: float) -> int:
    """Hours after noon."""
    return round(NOON.timestamp() * 1000 + hours * HOUR)


def names(pairs: tuple[Pair, ...]) -> list[tuple[str, str]]:
    return [(pair.changed.application, pair.unchanged.application) for pair in pairs]


def run(application: str, ended_hours: float, arm: TrialArm | None = None) -> Run:
    return Run("c", application, millis(ended_hours), 1000, (), arm)


def at(ring: Ring, before_until: float, after_since: float, share: float | None = None) -> RolloutStep:
    between = {"before_until_millis": millis(before_until), "after_since_millis": millis(after_since)}
    return replace(rollout_step(ring, millis(0), share), **between)  # type: ignore[arg-type]


def test_what_starts_between_the_last_old_and_the_first_new_values_counts_for_neither_side() -> None:
    runs = [run("before", -3), run("between", -1), run("just before", 0.5), run("after", 2), run("later", 3)]
    trial = Trial((at(Ring.ALL, -2, 1),), history(*runs))
    assert names(observed(trial, RingLimits())[1].pairs) == [("after", "before")]


def test_what_started_before_a_step_is_not_new_though_it_ends_after_it() -> None:
    started = {"long": Application("long", "nightly", "a = b", millis(-1))}
    trial = Trial((at(Ring.ALL, 0, 0),), history(run("long", 2), run("new", 3), applications=started))
    assert names(observed(trial, RingLimits())[1].pairs) == [("new", "long")]


def test_what_ran_before_another_rollout_ended_is_no_control() -> None:
    runs = [run("with another change", -3), run("before", -1), run("after", 2)]
    trial = Trial((at(Ring.ALL, 0, 0),), history(*runs), since_millis=millis(-2))
    assert names(observed(trial, RingLimits())[1].pairs) == [("after", "before")]


# Errors of the plugin


def test_an_error_that_the_control_had_too_is_excused_also_when_that_log_is_gone(target: Path) -> None:
    begun(target, -9, RATE, 0.3)
    control = Fault("c", "old", millis(-8), 1, "control")
    canary = replace(control, application="new", at_millis=millis(-1), arm="canary")
    found = rollouts(target, -7)
    take(found, go_on(found, found.trial(history(control)), unasked, Limits(), RingLimits()))
    found = rollouts(target, 0)
    assert go_on(found, found.trial(history(canary)), unasked, Limits(), RingLimits()).step.ring is Ring.CANARY
    other = history(replace(canary, fingerprint="d"))
    assert go_on(found, found.trial(other), unasked, Limits(), RingLimits()).step.ring is Ring.ROLLED_BACK


def test_an_error_that_the_control_had_in_the_canary_stays_excused_in_all(target: Path) -> None:
    begun(target, -9, RATE, 0.3)
    control = Fault("c", "old", millis(-8), 1, "control")
    found = rollouts(target, -7)
    take(found, go_on(found, found.trial(history(control)), unasked, Limits(), RingLimits()))
    arms: list[tuple[TrialArm, int]] = [("canary", 500), ("control", 1000)] * 30
    runs = [
        replace(run(f"a{number}", -6 + number / 100, arm), duration_millis=took + number)
        for number, (arm, took) in enumerate(arms)
    ]
    found = rollouts(target, -2)
    step = go_on(found, found.trial(history(*runs)), unasked, Limits(), RingLimits())
    assert step.step.ring is Ring.ALL
    take(found, step)
    found = rollouts(target, 0)
    seen = history(*runs, run("new", -0.5), Fault("c", "new", millis(-0.5), 1))
    assert go_on(found, found.trial(seen), unasked, Limits(), RingLimits()).step.ring is Ring.ALL


def test_an_error_in_a_query_without_a_decided_join_excuses_nothing(target: Path) -> None:
    begun(target, -9, RATE, 0.3)
    faults = [Fault("", "a", millis(-1), 1, arm) for arm in ("control", "canary")]
    found = rollouts(target, 0)
    step = go_on(
        found, found.trial(history(faults[0], replace(faults[1], application="b"))), unasked, Limits(), RingLimits()
    )
    assert step.step.ring is Ring.ROLLED_BACK


def test_an_error_of_an_application_that_started_while_clocks_may_disagree_takes_the_change_back(target: Path) -> None:
    begun(target, 0, RATE, None)
    server = {"server": Application("server", "thrift", "a = b", millis(0.25))}
    found = rollouts(target, 24 * 9)
    seen = history(run("server", 5), Fault("c", "server", millis(5), 500), applications=server)
    step = go_on(found, found.trial(seen), unasked, Limits(), RingLimits()).step
    assert (step.ring, step.why.partition(" of")[0]) == (Ring.ROLLED_BACK, "500 errors")


def test_a_step_back_that_waits_for_a_repository_stays_due_when_the_log_that_showed_the_harm_is_gone(
    target: Path,
) -> None:
    begun(target, -9, RATE, 0.3)
    arms: list[tuple[TrialArm, int]] = [("canary", 500), ("control", 1000)] * 30
    good = [
        replace(run(f"a{number}", -6 + number / 100, arm), duration_millis=took + number)
        for number, (arm, took) in enumerate(arms)
    ]
    harm = Fault("c", "gone", millis(-6), 3, "canary")
    for hours, seen in ((0, history(*good, harm)), (24 * 8, history(*good))):
        found = rollouts(target, hours)
        step = go_on(found, found.trial(seen), unasked, Limits(), RingLimits())
        assert (step.step.ring, step.step.why.partition(" of")[0]) == (Ring.ROLLED_BACK, "3 errors")
        take(found, step, leaves_target=True)


# A canary whose step forward waits


def days_of(factors: list[float], pairs_a_day: int, seed: int) -> list[list[Run]]:
    """Runs of a canary and its control for each day, on which the canary takes so many times as long."""
    noise = Random(seed)
    return [
        [
            replace(
                run(f"d{day}n{number}{arm}", 24 * day + 1 + number / 100, arm),
                duration_millis=round(1000 * math.exp(noise.gauss(0, 0.1)) * (factor if arm == "canary" else 1)),
            )
            for number in range(pairs_a_day)
            for arm in ("canary", "control")
        ]
        for day, factor in enumerate(factors, start=1)
    ]


def verdicts(days: list[list[Run]]) -> list[Ring]:
    pairs: tuple[Pair, ...] = ()
    found = []
    for runs in days:
        observation, new = observed(Trial((at(Ring.CANARY, 0, 0, 0.5),), history(*runs), pairs), RingLimits())
        pairs = (*pairs, *new.pairs)
        found.append(advance(Ring.CANARY, observation, RingLimits()).ring)
    return found


def test_a_canary_whose_step_forward_waits_is_watched_however_many_pairs_it_has() -> None:
    found = verdicts(days_of([1.0] * 12 + [9.0], pairs_a_day=60, seed=1))
    assert set(found[3:12]) == {Ring.ALL}
    assert found[12] is Ring.ROLLED_BACK


def test_a_good_canary_whose_step_forward_waits_for_weeks_is_seldom_called_worse() -> None:
    trials = 60
    called = sum(Ring.ROLLED_BACK in verdicts(days_of([1.0] * 10, pairs_a_day=60, seed=seed)) for seed in range(trials))
    # The bound is 3 % of the trials.
    assert called <= 0.1 * trials


# The ring all after a canary


def in_all(slowdown: float, share: float | None = 0.3) -> tuple[Ring, str]:
    """The move after the control's applications of the day before, and those with the change, so many times as long."""
    old = [run(f"old{number}", -30 + number / 10, "control") for number in range(60)]
    new = [
        replace(run(f"new{number}", 1 + number / 10), duration_millis=round(1000 * slowdown)) for number in range(60)
    ]
    steps = (at(Ring.CANARY, -40, -40, share), at(Ring.ALL, 0, 0, share))
    move = advance(Ring.ALL, observed(Trial(steps, history(*old, *new)), RingLimits())[0], RingLimits())
    return move.ring, move.why.partition(":")[0]


def test_after_a_canary_a_slower_day_is_put_down_to_the_day_and_great_harm_is_not() -> None:
    assert in_all(1.3) == (Ring.SETTLED, "not slower by 58%")
    assert in_all(3.0) == (Ring.ROLLED_BACK, "slower")


def test_without_a_canary_any_slowdown_in_all_goes_back() -> None:
    assert in_all(1.3, share=None) == (Ring.ROLLED_BACK, "slower")
    assert in_all(1.0, share=None) == (Ring.SETTLED, "not slower by 5%")


def exhausted(*runs: Run, kinds: dict[str, str] | None = None) -> bool:
    about = {name: Application(name, kind, "a = b", millis(-1)) for name, kind in (kinds or {}).items()}
    trial = Trial((at(Ring.ALL, 0, 0, 0.3),), history(*runs, applications=about))
    return observed(trial, RingLimits())[0].exhausted


def test_a_control_of_a_kind_that_nothing_with_the_change_has_is_none() -> None:
    new = [run(f"new{number}", 1 + 24 * number) for number in range(5)]
    assert exhausted(*new)
    assert exhausted(*new, run("old", -1))
    assert exhausted(*new, run("ad hoc", -1), kinds={"ad hoc": "ad hoc"})
    assert not exhausted(*new, *(run(f"old{number}", -number) for number in range(1, 7)))
    assert not exhausted(*new[:1], *(run(f"old{number}", -number) for number in range(1, 7)))


@pytest.mark.parametrize(("days", "over"), [(10, False), (30, True)])
def test_a_control_of_a_job_that_runs_no_more_is_not_waited_for(days: int, over: bool) -> None:
    new = [run(f"new{number}", 1 + 24 * number) for number in range(days)]
    weekly = [run("before", -3), run("left over", -20), run("after", 2)]
    kinds = {one.application: Application(one.application, "weekly", "a = b", one.at_millis) for one in weekly}
    trial = Trial((at(Ring.ALL, 0, 0, 0.3),), history(*new, *weekly, applications=kinds))
    assert observed(trial, RingLimits())[0].exhausted is over


def test_one_application_with_a_clock_far_ahead_does_not_end_the_wait_for_late_logs() -> None:
    runs = [run("new", 1), run("ahead", 24 * 20), *(run(f"old{number}", -5 - number) for number in range(9))]
    kinds = {"ahead": Application("ahead", "test", "a = b", millis(24 * 20))}
    trial = Trial((at(Ring.ALL, 0, 0, 0.3),), history(*runs, applications=kinds), now_millis=millis(12))
    assert not observed(trial, RingLimits())[0].exhausted
    assert observed(replace(trial, now_millis=None), RingLimits())[0].exhausted


def test_while_logs_may_come_late_the_control_is_not_over() -> None:
    assert not exhausted(*(run(f"new{number}", 1 + 10 * number) for number in range(7)))
    assert exhausted(*(run(f"new{number}", 1 + 10 * number) for number in range(9)))


# Clocks apart


def rollouts(target: Path, hours: float, who: str = "ann") -> Rollouts:
    return read_rollouts(FileStore(target), Actor(who, "", lambda: NOON + timedelta(hours=hours)))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    conf = tmp_path / "spark-defaults.conf"
    conf.write_text("spark.master yarn\n")
    return conf


def unasked() -> AbstractContextManager[Replay]:
    pytest.fail("nobody needs the decision function")


def begun(target: Path, hours: float, key: str, share: float | None) -> None:
    found = rollouts(target, hours)
    step = begin_with_values(found, {key: "0.5" if key == RATE else "10"}, share)
    assert step is not None
    take(found, step)


@pytest.mark.parametrize("hours", [-1.0, 1.0], ids=["behind", "ahead"])
def test_with_a_clock_apart_from_the_clusters_the_hour_between_counts_for_neither_side(
    target: Path, hours: float
) -> None:
    begun(target, -20, RATE, 0.3)
    pairs: list[tuple[TrialArm, float]] = [("canary", 2.0), ("control", 1.0)]
    arms = [pair for pair in pairs for _ in range(30)]
    seen = [
        replace(run(f"a{number}", -10 + number / 10, arm), duration_millis=round(1000 / factor + number))
        for number, (arm, factor) in enumerate(arms)
    ]
    # By the clock of the cluster it is noon, and one application just ended.
    seen.append(run("last", 0))
    found = rollouts(target, hours)
    step = go_on(found, found.trial(history(*seen)), unasked, Limits(), RingLimits())
    assert step.step.ring is Ring.ALL
    take(found, step)
    last = rollouts(target, hours).steps[-1]
    assert (last.before_until_millis, last.after_since_millis) == (millis(min(0, hours)), millis(max(0, hours)))


@pytest.mark.parametrize("way", ["asked for", "interrupted", "by a repository"])
@pytest.mark.parametrize("hours", [-1.0, 1.0], ids=["behind", "ahead"])
def test_a_step_without_a_look_at_logs_leaves_an_hour_to_either_side(
    target: Path, hours: float, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    # By the clock of the cluster it is noon.
    if way == "by a repository":
        found = rollouts(target, hours)
        step = begin_with_values(found, {RATE: "0.5"}, None)
        assert step is not None
        take(found, step, leaves_target=True)
        target.write_text(f"spark.master yarn\n{RATE} 0.5\n")
    elif way == "interrupted":
        with monkeypatch.context() as patched:
            patched.setattr("aqe_plugin.tuning.rollout.next_steps.carry_out_held", killed)
            with pytest.raises(KeyboardInterrupt):
                begun(target, hours, RATE, None)
    else:
        begun(target, hours, RATE, None)
    found = rollouts(target, hours)
    late = unfinished(found)
    assert (late is None) == (way == "asked for")
    if late is not None:
        take(found, late)
    runs = [run(f"old{number}", -5 + number / 10) for number in range(49)]
    runs += [run(f"new{number}", 0.1 + number / 10) for number in range(49)]
    found = rollouts(target, hours + 5)
    pairs = names(observed(found.trial(history(*runs)), RingLimits())[1].pairs)
    assert len(pairs) >= 20
    assert {(one[:3], other[:3]) for one, other in pairs} == {("new", "old")}


def test_what_ran_with_a_settled_change_that_was_taken_back_is_no_control_of_the_next() -> None:
    others = (Ring.OBSERVE, -40), (Ring.ALL, -39), (Ring.SETTLED, -20), (Ring.ROLLED_BACK, -5)
    steps = [at(ring, hours, hours) for ring, hours in others]
    following = replace(at(Ring.ALL, 0, 0), number=2)
    found = Rollouts(FileStore(Path("unused")), (*steps, following), Actor("ann", "", lambda: NOON))
    assert found.trial(history()).since_millis == millis(-5)


def test_what_ran_until_a_rollback_was_found_by_a_clock_that_is_behind_is_no_control_of_the_next(target: Path) -> None:
    before = target.read_text()
    begun(target, -9, RATE, None)
    # At noon by the clock of the cluster.
    target.write_text(before)
    found = rollouts(target, -1)
    step = unfinished(found)
    assert step is not None
    take(found, step)
    begun(target, 3, TIMEOUT, None)
    runs = [run("with the other change", -0.1), run("before", 1), run("after", 5), run("later", 6)]
    assert names(observed(rollouts(target, 6).trial(history(*runs)), RingLimits())[1].pairs) == [("after", "before")]


def test_an_application_whose_clock_is_far_off_does_not_keep_all_others_from_counting(target: Path) -> None:
    begun(target, -20, RATE, 0.3)
    found = rollouts(target, 0)
    trial = found.trial(history(run("far off", 24 * 365)))
    step = go_on(found, trial, unasked, Limits(), RingLimits()).step
    assert step.after_since_millis <= millis(24)


def test_a_rollout_begun_by_a_clock_that_is_behind_has_nothing_of_the_one_before(target: Path) -> None:
    begun(target, -3, TIMEOUT, 0.3)
    arms: list[TrialArm] = ["canary", "control"] * 40
    runs = [run(f"a{number}", -3 + number / 30, arm) for number, arm in enumerate(arms)]
    slow = [replace(one, duration_millis=3000) if one.arm == "canary" else one for one in runs]
    found = rollouts(target, 0)
    step = go_on(found, found.trial(history(*slow)), unasked, Limits(), RingLimits())
    assert step.step.ring is Ring.ROLLED_BACK
    take(found, step)
    begun(target, -0.9, RATE, 0.3)
    later = rollouts(target, -0.8)
    assert later.steps[-1].at_millis > millis(0)
    observation, new = observed(later.trial(history(*slow)), RingLimits())
    assert (observation.pairs, new.pairs) == (0, ())


def test_what_ran_with_a_change_that_went_back_from_all_is_no_control_of_the_next(target: Path) -> None:
    begun(target, -9, TIMEOUT, None)
    slow = [replace(run(f"a{number}", -8 + number / 10), duration_millis=3000) for number in range(30)]
    before = [run(f"b{number}", -20 + number / 10) for number in range(30)]
    found = rollouts(target, -4)
    every = history(*before, *slow)
    step = go_on(found, found.trial(every), unasked, Limits(), RingLimits())
    assert step.step.ring is Ring.ROLLED_BACK
    take(found, step)
    begun(target, 0, RATE, None)
    new = history(*before, *slow, run("quiet", -1), run("new", 2))
    assert names(observed(rollouts(target, 3).trial(new), RingLimits())[1].pairs) == [("new", "quiet")]
