"""No arm has a better place than another, and each is held against the base's run that is nearer."""

from collections import Counter
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.rounds import Timed, nearest_seconds, order_of_round

_BASE = "base"
_ARMS = ("a", "b", "c", "d", "e", "f")


@given(st.text(max_size=5), st.integers(0, 99), st.sets(st.sampled_from(_ARMS)))
def test_a_round_has_each_active_arm_once_and_the_base_twice(query: str, turn: int, active: set[str]) -> None:
    order = order_of_round(query, turn, _BASE, active)
    assert Counter(order) == Counter({**dict.fromkeys(active, 1), _BASE: 2})
    assert order[0] == _BASE
    second = order.index(_BASE, 1)
    assert 0 <= (second - 1) - (len(order) - second - 1) <= 1
    assert order == order_of_round(query, turn, _BASE, active), "a stopped round has the same order again"


def test_over_many_rounds_no_arm_is_earlier_than_another_or_always_after_the_same() -> None:
    orders = [order_of_round("q1", turn, _BASE, _ARMS) for turn in range(400)]
    places = {arm: fmean(order.index(arm) for order in orders) for arm in _ARMS}
    assert max(places.values()) - min(places.values()) < 0.5
    for arm in _ARMS:
        before = Counter(order[order.index(arm) - 1] for order in orders)
        assert len(before) == len(_ARMS), "the base and each other arm"
        assert all(count < 200 for count in before.values())


def test_the_nearer_of_the_bases_runs_counts_and_the_mean_of_two_that_are_equally_near() -> None:
    runs = [Timed(0, 10.0), Timed(4, 20.0)]
    assert [nearest_seconds(place, runs) for place in (1, 2, 3, 5, 6)] == [10.0, 15.0, 20.0, 20.0, 20.0]
