"""What a rollout that went back means for the next recommendation."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.tuning.groups import COEFFICIENTS, group_named
from aqe_plugin.tuning.recommend import Step, judge
from aqe_plugin.tuning.recommendation import Limits, best, violations
from aqe_plugin.tuning.rollout.attempts import findings_after, sure_enough, tried_until
from aqe_plugin.tuning.rollout.ledger import ASKED, RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring
from aqe_plugin.tuning.runs import Run
from aqe_plugin.tuning.unseen import choosing, confirming
from benchmarks.rollout_fleet import rollout_step
from commands import Answer
from fleet import DAY_MILLIS, DEFAULTS, Fleet, Noise, fleet_of
from tests.extent import cases
from tuned_cluster import Cluster, cluster, step

__all__ = ["cluster"]

BROADCAST = group_named("broadcast")
LIMITS = Limits(max_runs=8)


def last_step(number: int, ring: Ring, at_millis: int, group: str = "broadcast", factor: float = 2.0) -> RolloutStep:
    changes = tuple(
        Change(PREFIX + key, f"{DEFAULTS[key]:g}", f"{factor * DEFAULTS[key]:g}", "") for key in BROADCAST.keys
    )
    return replace(rollout_step(ring, at_millis, None), number=number, group=group, changes=changes)


def test_each_attempt_since_one_that_settled_must_be_surer() -> None:
    back = [last_step(number, Ring.ROLLED_BACK, number) for number in range(1, 5)]
    first = sure_enough([], LIMITS)
    assert first.min_confidence == pytest.approx(1 - 0.05 / 4)
    assert sure_enough(back[:1], LIMITS).min_confidence == pytest.approx(1 - 0.05 / 16)
    assert sure_enough(back, LIMITS).min_confidence == pytest.approx(1 - 0.05 / 100)
    assert sure_enough([*back, last_step(5, Ring.SETTLED, 9)], LIMITS) == first
    # A step on the way is none of the attempts, nor is a value that somebody asked for.
    assert sure_enough([last_step(1, Ring.OBSERVE, 1), back[0]], LIMITS) == sure_enough(back[:1], LIMITS)
    assert sure_enough([last_step(1, Ring.ROLLED_BACK, 1, group=ASKED)], LIMITS) == first
    assert tried_until(back, "broadcast") == 4
    assert tried_until(back, "shuffle") == 0


def dear_broadcasts() -> Fleet:
    """A fleet of which broadcasts cost three times as much as the defaults say, after 16 days."""
    return fleet_of(0, (1.0, 1.0, 3.0, 1.0, 1.0, 1.0), queries=12)


def reasons(fleet: Fleet, runs: list[Run], *steps: RolloutStep) -> tuple[bool, str]:
    (finding,) = findings_after(steps, runs, DEFAULTS, LIMITS, fleet.replay, groups=[BROADCAST])
    return finding.recommendation is not None, finding.reason


def test_a_change_that_went_back_is_held_back_until_there_are_14_days_of_newer_runs() -> None:
    fleet = dear_broadcasts()
    old = fleet.week(None, 16) + fleet.week(DEFAULTS, 16)
    back = last_step(1, Ring.ROLLED_BACK, fleet.day * DAY_MILLIS - 1)
    assert reasons(fleet, old) == (True, "")
    assert reasons(fleet, old, back) == (
        False,
        "no fingerprint with 5 runs, outliers not counted, since rollout no. 1 of it went back on 1970-02-01",
    )
    newer = fleet.week(None, 7) + fleet.week(DEFAULTS, 7)
    assert reasons(fleet, old + newer, back) == (
        False,
        "held back: rollout no. 1 of it went back on 1970-02-01; tried again after 14 days of newer runs",
    )
    assert reasons(fleet, old + newer, replace(back, ring=Ring.OBSERVE)) == (True, "")
    # The other way is another change.
    down = last_step(1, Ring.ROLLED_BACK, back.at_millis, factor=0.5)
    assert reasons(fleet, old + newer, down) == (True, "")
    assert reasons(fleet, old + newer + fleet.week(DEFAULTS, 2), back) == (True, "")


def test_apply_and_recommend_name_what_they_hold_back(cluster: Cluster, answer: Answer) -> None:
    assert step(cluster, answer)["group"] == "broadcast"
    cluster.week()
    assert step(cluster, answer)["ring"] == "all"
    assert answer("rollback", "--target", str(cluster.target), "--yes")[0] == 0
    assert step(cluster, answer)["ring"] == "rolled_back"
    cluster.write(cluster.fleet.week(None, 5))
    cluster.write(cluster.fleet.week(DEFAULTS, 6))
    where = (str(cluster.logs), "--target", str(cluster.target))
    for words in (("rollout", *where), ("recommend", *where, "--format", "json")):
        code, out, err = answer(*words)
        assert code == 0, err
        assert "broadcast: held back: rollout no. 1 of it went back on " in err
        if words[0] == "recommend":
            found = [json.loads(line) for line in out.splitlines()]
            assert [one["group"] for one in found if one["heldBack"]] == ["broadcast"]
    ledger = [line for line in answer("history", *where[1:], "--format", "json")[1].splitlines() if '"ring"' in line]
    assert json.loads(ledger[-1])["number"] == 1


def test_a_settled_change_that_somebody_takes_back_is_held_back_as_well(cluster: Cluster, answer: Answer) -> None:
    rings = [step(cluster, answer)["ring"]]
    while rings[-1] in ("observe", "all") and len(rings) < 9:
        cluster.week()
        rings.append(step(cluster, answer)["ring"])
    assert rings[-1] == "settled"
    assert answer("rollback", "--target", str(cluster.target), "--yes")[0] == 0
    held = cluster.target.read_bytes()
    found = step(cluster, answer)
    assert (found["number"], found["before"], found["ring"]) == (1, "settled", "rolled_back")
    assert found["why"].startswith("rolled back by aqe-plugin rollback: ")
    cluster.write(cluster.fleet.week(None, 5))
    cluster.write(cluster.fleet.week(DEFAULTS, 6))
    code, _, err = answer("recommend", str(cluster.logs), "--target", str(cluster.target))
    assert (code, "broadcast: held back: rollout no. 1 of it went back on " in err) == (0, True), err
    assert cluster.target.read_bytes() == held


def attempts(fleet: Fleet, looks: int) -> tuple[int, bool]:
    """How many changes were chosen in looks every five days, and whether one was confirmed that saves no time."""
    at_best = fleet.best_thresholds()
    history = fleet.week(None, 16) + fleet.week(at_best, 16)
    steps: list[RolloutStep] = []
    for number in range(1, looks + 1):
        limits = sure_enough(steps, LIMITS)
        made = best(
            findings_after(steps, choosing(history), at_best, limits, fleet.replay, groups=COEFFICIENTS), limits
        )
        chosen_at = max(run.at_millis for run in history)
        history += fleet.week(at_best, 5)
        if made is None:
            continue
        tried = tried_until(steps, made.group)
        unseen = [run for run in confirming(history, chosen_at) if run.at_millis > tried]
        change = Step(group_named(made.group), {one.key.removeprefix(PREFIX): one.new for one in made.changes})
        found = judge(unseen, at_best, change, limits, fleet.replay).recommendation
        if found is not None and not violations(found, limits):
            # What is cheapest by the price is not always chosen, so a change may do a little good.
            return len(steps) + 1, fleet.excess({**at_best, **change.values}) >= 1
        changes = tuple(Change(one.key, f"{one.old}", f"{one.new}", "") for one in made.changes)
        back = rollout_step(Ring.ROLLED_BACK, max(run.at_millis for run in history), None)
        steps.append(replace(back, number=number, group=made.group, changes=changes))
    return len(steps), False


@pytest.mark.simulation
def test_however_often_chance_chooses_a_change_for_a_fleet_at_its_best_hardly_one_is_confirmed() -> None:
    fleets = cases(40, whole=300)
    found = [attempts(fleet_of(seed, queries=5, noise=Noise(sigma=0.3)), looks=12) for seed in range(fleets)]
    assert sum(chosen for chosen, _ in found) >= 0.2 * fleets
    # 3 %, and one standard deviation of so few.
    assert sum(confirmed for _, confirmed in found) <= 0.03 * fleets + (0.03 * fleets) ** 0.5
