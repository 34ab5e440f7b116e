"""What a choice costs is measured beside the best option in hindsight."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arms import Join, JoinPlan, Passed, arm_name
from benchmarks.hindsight import JoinRegret, join_regrets, summary
from benchmarks.intervals import Precision
from benchmarks.measured import Measured
from benchmarks.regret_page import regret_page

_JOIN = Join(
    "inner:a=b",
    "a = b",
    "plain_sort_merge",
    ("CHEAPEST", "PASS_RATE_TOO_HIGH"),
    False,
    {"plain_sort_merge": 900.0, "broadcast": 400.0, "filtered_sort_merge": 950.0},
    0.5,
    "rows",
    JoinPlan("plain_sort_merge", waited=False),
)


def _measured(**ratios: float) -> Measured:
    """Six rounds; the choices forced take 10 s, other arms their ratio of that."""
    measured = Measured("q1", [_JOIN])
    for arm, ratio in {"pinned": 1.0, "off": 2.0, "plugin": 1.01, **ratios}.items():
        name = arm if arm in ("plugin", "off", "pinned") else arm_name(_JOIN, arm)
        for turn in range(6):
            measured.add({"query": "q1", "arm": name, "turn": turn, "place": 0, "seconds": 10 * ratio})
    return measured


def _only(measured: Measured) -> JoinRegret:
    (found,) = join_regrets(measured)
    return found


def test_regret_is_the_share_that_the_best_option_saves() -> None:
    found = _only(_measured(broadcast=0.8, filtered_sort_merge=1.3))
    assert found.best == "broadcast"
    assert found.regret == pytest.approx(0.2)
    assert found.lost_seconds == pytest.approx(2.0)
    assert found.is_surely_wrong
    assert found.predicted_millis == -500.0
    assert found.measured_millis == pytest.approx(-2000)


def test_the_best_choice_has_no_regret_and_is_compared_with_the_next_best() -> None:
    found = _only(_measured(broadcast=1.2, filtered_sort_merge=1.3))
    assert (found.best, found.regret, found.is_right, found.lost_seconds) == ("plain_sort_merge", 0.0, True, 0.0)
    assert found.measured_millis == pytest.approx(2000)


def test_a_refused_option_does_not_count() -> None:
    measured = _measured(broadcast=0.5, filtered_sort_merge=1.3)
    measured.add({"arm": arm_name(_JOIN, "broadcast"), "turn": -1, "seconds": 1.0, "refused": "BROADCAST_MEMORY"})
    assert _only(measured).best == "plain_sort_merge"
    assert not measured.is_active(arm_name(_JOIN, "broadcast"), Precision())


def test_two_rounds_are_not_enough() -> None:
    measured = Measured("q1", [_JOIN])
    for turn in range(2):
        for arm in ("pinned", arm_name(_JOIN, "broadcast")):
            measured.add({"arm": arm, "turn": turn, "place": 0, "seconds": 1.0})
    assert join_regrets(measured) == []


@given(
    st.dictionaries(
        st.sampled_from(["broadcast", "filtered_sort_merge"]), st.lists(st.floats(0.1, 9), max_size=9), min_size=1
    ),
    st.lists(st.floats(0.1, 9), min_size=1, max_size=9),
)
def test_regret_is_a_share_within_its_interval(options: dict[str, list[float]], base: list[float]) -> None:
    measured = Measured("q1", [_JOIN])
    for arm, runs in {"pinned": base, **{arm_name(_JOIN, option): runs for option, runs in options.items()}}.items():
        for turn, seconds in enumerate(runs):
            measured.add({"arm": arm, "turn": turn, "place": 0, "seconds": seconds})
    for found in join_regrets(measured):
        assert 0 <= found.surely <= found.regret <= found.at_most < 1


def test_a_pass_rate_is_as_wrong_as_the_larger_is_times_the_smaller() -> None:
    found = _only(_measured(broadcast=1.2))
    assert found.pass_rate_factor is None
    for rows_out, factor in ((25, 2.0), (100, 2.0), (50, 1.0)):
        assert replace(found, passed=Passed(100, rows_out)).pass_rate_factor == pytest.approx(factor)


def test_a_run_that_failed_or_differs_is_a_problem_and_no_time() -> None:
    measured = _measured()
    measured.add({"arm": "off", "turn": 6, "seconds": 0.0, "failure": "out of luck"})
    measured.add({"arm": "pinned", "turn": 6, "place": 0, "seconds": 1.0, "differs": "1 row(s) only in pinned"})
    assert measured.failed == ["q1, off: out of luck"]
    assert measured.wrong_rows == ["q1, pinned: 1 row(s) only in pinned"]
    assert len(measured.seconds("off")) == 6


def test_the_summary_counts_choices_and_sums_what_was_lost() -> None:
    other = _measured(broadcast=1.2)
    other.add({"arm": "plugin", "turn": -1, "seconds": 1.0, "passed": {"inner:a=b": (100, 10)}})
    whole = summary([_measured(broadcast=0.8), other, Measured("q2", [])])
    assert (whole.joins, whole.with_options, whole.right, whole.surely_wrong) == (2, 2, 1, 1)
    assert whole.total_seconds == pytest.approx(20.2)
    assert whole.off_seconds == 40
    assert whole.lost_seconds == pytest.approx(2.0)
    assert whole.own_ratio == pytest.approx(1.01)
    assert (whole.pass_rates, whole.pass_rates_close) == (1, 0)


def test_the_summary_says_of_how_many_build_sides_the_keys_were_counted() -> None:
    joins = [replace(_JOIN, join_id=f"inner:a={counted}", is_counted=counted) for counted in (True, True, False, None)]
    measured = Measured("q1", joins)
    for turn in range(4):
        for arm in ("pinned", arm_name(joins[0], "broadcast")):
            measured.add({"arm": arm, "turn": turn, "place": 0, "seconds": 1.0})
    assert (summary([measured]).counted, summary([measured]).countable) == (2, 3)
    assert "whose distinct keys were measured: 2 of 3 (67%)" in regret_page([measured], "skew")


def test_an_option_with_wrong_rows_is_never_the_best_and_is_listed_first() -> None:
    measured = _measured(broadcast=0.5, filtered_sort_merge=0.9)
    arm = arm_name(_JOIN, "broadcast")
    measured.add({"arm": arm, "turn": 6, "place": 0, "seconds": 5.0, "differs": "1 row(s) only in off"})
    found = _only(measured)
    assert found.best == "filtered_sort_merge"
    assert set(found.options) == {"filtered_sort_merge"}
    assert not measured.is_active(arm, Precision())
    page = regret_page([measured], "skew, scale 1")
    assert page.index("## WRONG ROWS: 1") < page.index("- queries: 1")
    assert f"- q1, {arm}: 1 row(s) only in off" in page


def test_an_option_that_fails_is_never_the_best() -> None:
    measured = _measured(broadcast=0.5, filtered_sort_merge=0.9)
    measured.add({"arm": arm_name(_JOIN, "broadcast"), "turn": 6, "seconds": 0.0, "failure": "out of luck"})
    assert _only(measured).best == "filtered_sort_merge"


def test_nothing_is_said_of_a_query_in_which_the_plugins_rows_are_wrong() -> None:
    measured = _measured(broadcast=0.5)
    measured.add({"arm": "plugin", "turn": 6, "place": 0, "seconds": 5.0, "differs": "1 row(s) only in off"})
    assert join_regrets(measured) == []
    assert measured.is_over
    whole = summary([measured])
    assert (whole.base_seconds, whole.total_seconds, whole.off_seconds) == (0, 0, 0)


def test_an_arm_is_held_against_the_nearer_run_of_the_choices_in_the_same_round() -> None:
    measured = Measured("q1", [_JOIN])
    for turn in range(4):
        for place, (arm, seconds) in enumerate((("pinned", 10.0), ("off", 30.0), ("plugin", 8.0), ("pinned", 20.0))):
            measured.add({"arm": arm, "turn": turn, "place": place, "seconds": seconds})
    assert list(measured.ratios("off").values()) == [3.0] * 4
    assert list(measured.ratios("plugin").values()) == [0.4] * 4
    assert list(measured.base.values()) == [15.0] * 4


def test_the_plugin_and_spark_run_until_their_own_ratio_is_known() -> None:
    measured = Measured("q1", [_JOIN])
    for turn in range(8):
        for arm, seconds in (("pinned", 10.0), ("plugin", 12.0), ("off", 12.0 + turn % 4)):
            measured.add({"arm": arm, "turn": turn, "place": 0, "seconds": seconds})
    # Both are surely slower than the choices forced.
    assert [measured.is_active(arm, Precision()) for arm in ("plugin", "off")] == [True, True]
    for turn in range(8, 12):
        for arm, seconds in (("pinned", 10.0), ("plugin", 12.0), ("off", 13.0)):
            measured.add({"arm": arm, "turn": turn, "place": 0, "seconds": seconds})
    assert [measured.is_active(arm, Precision()) for arm in ("plugin", "off")] == [False, False]


def test_the_noise_is_the_distance_of_the_same_choices_in_one_round() -> None:
    measured = Measured("q1", [_JOIN])
    for turn in range(4):
        for place, seconds in enumerate((10.0, 10.0 + turn)):
            measured.add({"arm": "pinned", "turn": turn, "place": place, "seconds": seconds})
    assert summary([measured]).noise == pytest.approx(0.15)


def test_without_another_option_the_plugin_is_held_against_spark_alone() -> None:
    measured = Measured("q1", [replace(_JOIN, prices={"plain_sort_merge": 900.0})])
    for turn in range(3):
        measured.add({"arm": "plugin", "turn": turn, "place": 0, "seconds": 10.0, "deviates": "inner:a=b: broadcast"})
        measured.add({"arm": "off", "turn": turn, "place": 1, "seconds": 20.0})
    assert measured.base_arm == "plugin"
    assert list(measured.ratios("off").values()) == [2.0] * 3
    assert measured.beside_spark == (10.0, 20.0)


def test_what_the_plugin_takes_counts_also_where_it_chose_otherwise() -> None:
    measured = _measured(broadcast=0.8)
    for turn in range(6, 30):
        measured.add({"arm": "plugin", "turn": turn, "place": 0, "seconds": 40.0, "deviates": "inner:a=b: broadcast"})
        measured.add({"arm": "off", "turn": turn, "place": 1, "seconds": 20.0})
    whole = summary([measured])
    assert (whole.total_seconds, whole.off_seconds) == (40.0, 20.0)
    assert (whole.own_runs, whole.own_runs_chosen_otherwise) == (30, 24)
    assert whole.own_ratio == pytest.approx(1.01)
    assert whole.otherwise_ratio is None, "there were no choices forced in these rounds"
    assert _only(measured).regret == pytest.approx(0.2)


def test_what_other_choices_cost_is_beside_the_learned_ones() -> None:
    measured = _measured(broadcast=0.8)
    for turn in (6, 7):
        measured.add({"arm": "pinned", "turn": turn, "place": 0, "seconds": 10.0})
        measured.add({"arm": "plugin", "turn": turn, "place": 1, "seconds": 20.0, "deviates": "inner:a=b: broadcast"})
    assert summary([measured]).otherwise_ratio == pytest.approx(2.0)
    assert "where it chose otherwise, beside the learned choices forced: 2.000" in regret_page([measured], "skew")


def test_the_times_of_the_plugin_and_of_spark_are_of_the_same_rounds() -> None:
    measured = Measured("q1", [_JOIN])
    for turn in range(9):
        # The machine is slower later, when Spark's run has dropped out.
        measured.add({"arm": "plugin", "turn": turn, "place": 0, "seconds": 10.0 if turn < 3 else 50.0})
        measured.add({"arm": "pinned", "turn": turn, "place": 0, "seconds": 50.0})
        if turn < 3:
            measured.add({"arm": "off", "turn": turn, "place": 1, "seconds": 20.0})
    whole = summary([measured])
    assert (whole.total_seconds, whole.off_seconds, whole.base_seconds) == (10.0, 20.0, 50.0)


def test_a_choice_is_not_wrong_by_the_runs_that_chose_another_one() -> None:
    measured = _measured()
    for turn in range(6):
        # By chance, each is fast in every other round.
        for option, lucky in (("broadcast", 0), ("filtered_sort_merge", 1)):
            seconds = 8.0 if turn % 2 == lucky else 10.2
            measured.add({"arm": arm_name(_JOIN, option), "turn": turn, "place": 0, "seconds": seconds})
    found = _only(measured)
    assert found.regret > 0.05
    assert found.is_right


def test_a_choice_needs_rounds_to_choose_in_and_rounds_to_measure_in() -> None:
    measured = Measured("q1", [_JOIN])
    for turn in range(6):
        deviates = {} if turn % 2 == 0 else {"deviates": "inner:a=b: broadcast"}
        measured.add({"arm": "pinned", "turn": turn, "place": 0, "seconds": 10.0, **deviates})
        measured.add({"arm": arm_name(_JOIN, "broadcast"), "turn": turn, "place": 1, "seconds": 5.0})
    assert len(measured.ratios(arm_name(_JOIN, "broadcast"))) == 3
    assert summary([measured]).with_options == 0


def test_runs_that_deviate_are_dropped_and_their_share_is_shown() -> None:
    measured = _measured(broadcast=0.8)
    arm = arm_name(_JOIN, "broadcast")
    measured.add({"arm": arm, "turn": 6, "place": 1, "seconds": 99.0, "deviates": "BROADCAST_MEMORY"})
    measured.add({"arm": "pinned", "turn": 7, "place": 0, "seconds": 99.0, "deviates": "inner:a=b: broadcast"})
    measured.add({"arm": arm, "turn": 7, "place": 1, "seconds": 99.0})
    measured.add({"arm": "plugin", "turn": 8, "place": 0, "seconds": 99.0, "deviates": "inner:a=b: broadcast"})
    assert max(measured.ratios(arm).values()) == 0.8
    page = regret_page([measured], "skew, scale 1")
    assert "by itself, the plugin chose otherwise: 1 of 7 (14%) runs" in page
    assert "dropped, the choices forced were not taken: 1 of 7 (14%) rounds" in page
    assert "dropped, the option was not taken: 1 of 8 (12%) forced runs" in page


def test_the_page_lists_the_worst_join_first() -> None:
    page = regret_page([_measured(broadcast=1.2), _measured(broadcast=0.8)], "skew, scale 1")
    rows = [line for line in page.splitlines() if "`inner:a=b`" in line]
    assert len(rows) == 2
    assert (
        "| plain_sort_merge, CHEAPEST PASS_RATE_TOO_HIGH | broadcast | 20.0% (20.0% to 20.0%) | -500 | -2,000 |"
        in rows[0]
    )
    assert "| the choice | 0.0% (0.0% to 0.0%) | -500 | +2,000 |" in rows[1]
    assert "choices that are the best option or within 5% of it, cross-fitted: 1 of 2 (50%); surely worse: 1" in page


def test_the_worst_of_many_joins_have_a_table_of_their_own() -> None:
    page = regret_page([_measured(broadcast=0.8 + i / 100) for i in range(11)], "skew, scale 1")
    assert "## The worst 10" in page
    assert page.count("`inner:a=b`") == 21


def test_a_page_without_a_measurement_says_so_and_has_no_table() -> None:
    page = regret_page([Measured("q1", [_JOIN])], "skew, scale 1")
    assert "none has another option that was measured" in page
    assert "|" not in page
