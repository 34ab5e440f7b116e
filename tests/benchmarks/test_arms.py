"""The options of a join are those that its decision allows, and forcing one keeps the other choices."""

import json
from dataclasses import replace

import pytest

from aqe_plugin.conf.keys import problem_of
from aqe_plugin.events.model import JoinDecision, Strategy, WeighedOption
from aqe_plugin.events.queries import JoinStory
from benchmarks.arms import (
    FORCE_KEY,
    Join,
    JoinPlan,
    arm_name,
    contenders_of,
    deviation,
    forced,
    has_counted_keys,
    join_of,
    passed_of,
    plan_of,
    refusal,
    unstarted,
)
from samples import DECISION, FACTS, FILTER_PAYS, OUTCOME, TOO_LARGE


def _decision(choice: Strategy, with_filter: bool, **facts: object) -> JoinDecision:
    return replace(DECISION, choice=choice, build_filter=with_filter, facts=replace(FACTS, **facts))  # type: ignore[arg-type]


def _built(
    *,
    rows: int,
    origin_rows: int | None,
    distinct: int | None,
    is_finished: bool = True,
    targets: int = 1,
    choice: Strategy = "broadcast",
) -> JoinDecision:
    build = replace(
        FACTS.build,
        rows=rows,
        origin_rows=origin_rows,
        keys=replace(FACTS.build.keys, distinct=distinct),
        already_broadcast=is_finished,
        partitions=0,
    )
    return _decision(choice, False, build=build, probe=replace(FACTS.probe, targets=targets))


def _priced(**prices: float) -> JoinDecision:
    options: dict[str, tuple[Strategy, bool]] = {
        "broadcast": ("broadcast", False),
        "filtered_broadcast": ("broadcast", True),
        "plain_sort_merge": ("plain_sort_merge", False),
        "filtered_sort_merge": ("filtered_sort_merge", True),
        "shuffled_hash": ("shuffled_hash", False),
    }
    weighed = [WeighedOption(*option, prices.get(name), FILTER_PAYS) for name, option in options.items()]
    return replace(DECISION, options=tuple(weighed))


_ALL = {"broadcast": 3.0, "filtered_broadcast": 1.0, "plain_sort_merge": 9.0, "filtered_sort_merge": 4.0}
_SORTED = {"spark_strategy": "plain_sort_merge"}
_BROADCAST = {
    "spark_strategy": "broadcast",
    "build": replace(FACTS.build, already_broadcast=True),
}


def test_a_join_has_every_option_that_can_be_priced_and_the_chosen_one_first() -> None:
    join = join_of(_decision("broadcast", True, **_SORTED), _priced(**_ALL))
    assert join.chosen == "broadcast+filter"
    assert set(join.alternatives) == {"broadcast", "plain_sort_merge", "filtered_sort_merge"}
    assert join.prices == {
        "broadcast+filter": 1.0,
        "broadcast": 3.0,
        "plain_sort_merge": 9.0,
        "filtered_sort_merge": 4.0,
    }


def test_what_is_left_to_spark_has_the_name_of_sparks_method() -> None:
    left = join_of(_decision("leave_to_spark", False, **_SORTED), _priced(**_ALL))
    assert left.chosen == "plain_sort_merge"
    broadcast = join_of(_decision("leave_to_spark", True, **_BROADCAST), _priced(broadcast=3.0, filtered_broadcast=1.0))
    assert (broadcast.chosen, broadcast.alternatives) == ("broadcast+filter", ("broadcast",))


def test_where_spark_broadcasts_after_the_shuffle_its_own_way_is_an_option() -> None:
    join = join_of(_decision("broadcast", True, spark_strategy="broadcast"), _priced(**_ALL))
    assert "leave_to_spark" in join.alternatives
    assert join.prices["leave_to_spark"] == 3.0


def test_without_a_legal_filter_no_probe_side_waits_for_a_broadcast() -> None:
    join = join_of(_decision("plain_sort_merge", False, **_SORTED), _priced(broadcast=3.0, plain_sort_merge=9.0))
    assert join.alternatives == ()


def test_a_hint_leaves_only_the_filter_open() -> None:
    join = join_of(_decision("leave_to_spark", False, hint="merge", **_SORTED), _priced(**_ALL))
    assert (join.chosen, join.alternatives) == ("leave_to_spark", ("leave_to_spark+filter",))


@pytest.mark.parametrize("hint", [None, "shuffle_hash"])
def test_a_shuffled_hash_join_of_sparks_leaves_only_the_filter_open_and_has_its_price(hint: str | None) -> None:
    decision = _decision("leave_to_spark", False, hint=hint, spark_strategy="shuffled_hash")
    join = join_of(decision, _priced(**_ALL, shuffled_hash=5.0))
    assert (join.chosen, join.alternatives) == ("leave_to_spark", ("leave_to_spark+filter",))
    assert join.prices["leave_to_spark"] == 5.0
    assert join.plan.option == "shuffled_hash"


_FIRST = Join(
    "inner:a=b",
    "a = b",
    "broadcast",
    ("CHEAPEST", "TIE"),
    False,
    {"broadcast": 1.0, "no": None},
    0.5,
    "rows",
    JoinPlan("broadcast", waited=False),
)
_SECOND = replace(_FIRST, join_id="inner:c=d", chosen="filtered_sort_merge", prices={"filtered_sort_merge": 1.0})
_IN_VAIN = replace(_SECOND, join_id="inner:e=f", chosen="plain_sort_merge", waited_in_vain=True)


@pytest.mark.parametrize(
    ("decision", "counted"),
    [
        (_built(rows=10, origin_rows=100, distinct=5), True),
        (_built(rows=10, origin_rows=None, distinct=None), False),
        (_built(rows=10, origin_rows=10, distinct=None), None),
        (_built(rows=10, origin_rows=100, distinct=5, is_finished=False), None),
        (_built(rows=10, origin_rows=100, distinct=5, targets=0), None),
        (_built(rows=10, origin_rows=100, distinct=5, choice="leave_to_spark"), None),
    ],
    ids=["counted", "not counted", "whole table", "not finished", "no scan to filter", "left to Spark"],
)
def test_only_keys_that_could_have_mattered_are_counted_or_not(decision: JoinDecision, counted: bool | None) -> None:
    assert has_counted_keys(decision) is counted


def test_one_option_is_forced_and_the_other_choices_are_kept() -> None:
    value = forced([_FIRST, _SECOND, _IN_VAIN], _FIRST, "plain_sort_merge")
    assert value == "inner:c=d=filtered_sort_merge;inner:a=b=plain_sort_merge"
    assert problem_of(FORCE_KEY, value) == ""


def test_a_wait_in_vain_is_part_of_the_choice_and_therefore_not_forced_away() -> None:
    assert forced([_FIRST, _IN_VAIN]) == "inner:a=b=broadcast"


def test_each_other_option_of_each_join_is_an_arm() -> None:
    names = [contender.name for contender in contenders_of([_FIRST, _SECOND])]
    assert names == ["plugin", "off", "pinned", arm_name(_FIRST, "no")]


def test_a_forced_option_that_was_not_taken_has_the_reason_of_what_was_refused() -> None:
    refused = _decision("plain_sort_merge", False)
    refused = replace(refused, reason=TOO_LARGE, filter_reason=replace(FILTER_PAYS, code="JOIN_TYPE"))
    assert refusal("plain_sort_merge", refused) == ""
    assert refusal("broadcast", refused) == TOO_LARGE.code
    assert refusal("filtered_sort_merge", refused) == "JOIN_TYPE"
    assert refusal("broadcast", None) == "not decided"


def test_what_is_left_to_spark_is_taken_when_its_method_runs() -> None:
    left = _decision("leave_to_spark", True, **_BROADCAST)
    assert refusal("broadcast+filter", left) == refusal("leave_to_spark+filter", left) == ""
    assert plan_of(left).option == "broadcast+filter"
    assert refusal("leave_to_spark", _decision("broadcast", False, **_SORTED)) == DECISION.reason.code


def test_a_wait_makes_another_plan() -> None:
    waited = _decision("broadcast", False)
    assert plan_of(waited) == JoinPlan("broadcast", waited=True)
    assert plan_of(_decision("broadcast", False, waiting=None)) == JoinPlan("broadcast", waited=False)


def test_a_join_that_was_decided_otherwise_or_is_new_or_missing_deviates() -> None:
    decision = _decision("broadcast", False, **_SORTED)
    join = join_of(decision, _priced(**_ALL))
    same = _decision("leave_to_spark", False, **_BROADCAST)
    other = _decision("plain_sort_merge", False)
    name = join.join_id
    assert deviation([join], {name: decision}) == deviation([join], {name: same}) == ""
    assert deviation([join], {name: other}) == f"{name}: plain_sort_merge, learned: broadcast"
    assert deviation([join], {}) == f"{name}: not decided, learned: broadcast"
    assert deviation([], {name: decision}) == f"{name}: broadcast, learned: not decided"


def test_a_pass_rate_is_known_only_if_no_task_paused_the_filter() -> None:
    passed = passed_of(JoinStory(DECISION, (), (replace(OUTCOME, rows_in=100, rows_out=20, rows_unchecked=0),)))
    assert passed is not None
    assert passed.rate == 0.2
    assert passed_of(JoinStory(DECISION, (), (replace(OUTCOME, rows_unchecked=1),))) is None
    assert passed_of(JoinStory(DECISION, (), ())) is None


def test_a_join_is_priced_as_if_its_probe_side_waited() -> None:
    started = {"joinId": "inner:a=b", "probe": {"started": True, "targets": 0, "rows": 5}}
    assert json.loads(unstarted(json.dumps(started)))["probe"] == {"started": False, "targets": 1, "rows": 5}
    waiting = {"joinId": "inner:a=b", "probe": {"started": False, "targets": 2, "rows": 5}}
    without = {**started, "waiting": {"reason": {"code": "NO_TARGET_SCAN"}}}
    for kept in (waiting, without):
        assert json.loads(unstarted(json.dumps(kept))) == kept
