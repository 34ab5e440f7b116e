"""What a comparison finds of a query's two sides, and how it says it; no session."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.api.comparison import Comparison, compare, gain_of
from aqe_plugin.api.query_shape import QueryShape
from aqe_plugin.api.row_difference import Row
from aqe_plugin.api.same_rows import MOST_ORDERED_ROWS, MOST_ROWS, Digest, RowsCompared, Side
from aqe_plugin.api.tables import html_of
from aqe_plugin.errors import StatementError
from aqe_plugin.events.json_values import encode
from aqe_plugin.events.queries import JoinStory, QueryStory
from samples import DECISION, FACTS, OUTCOME, PLANNED, SAVING, ended

STORY = QueryStory(
    "", "", 7, "", "apply", 900, (JoinStory(DECISION, (PLANNED,), (OUTCOME,), saving=SAVING),), ended(), None
)
NO_ORDER = QueryShape()
LEFT = replace(DECISION, choice="leave_to_spark", build_filter=False)


def _hash(row: Row) -> int:
    return hash(tuple(round(cell, 6) if isinstance(cell, float) else cell for cell in row))


def _bucket(row: Row) -> int:
    return _hash(row) % 8


@dataclass
class Sides:
    """A query by its rows, whose digests round doubles as Spark does; what was asked of it is noted."""

    off: Sequence[Row]
    apply: Sequence[Row]
    shape: QueryShape = NO_ORDER
    again: Sequence[Row] | None = None
    times: Mapping[Side, float] = field(default_factory=lambda: {"off": 3.0, "apply": 1.0})
    failing: tuple[Side, ...] = ()
    joins: tuple[JoinStory, ...] = STORY.joins
    asked: list[str] = field(default_factory=list)
    processor: float | None = 4.0
    checked: str = "by a checksum of every column, doubles to seven digits"

    def _of(self, side: Side) -> Sequence[Row]:
        return self.off if side == "off" else self.apply

    def digest(self, side: Side) -> Digest:
        if side in self.failing:
            raise RuntimeError("[DIVIDE_BY_ZERO] Division by zero.\nJVM stacktrace")
        if side == "off" and self.asked.count("digest off") == 1 and self.again is not None:
            self.off = self.again
        self.asked.append(f"digest {side}")
        buckets: dict[int, tuple[int, int, int]] = {}
        for row in self._of(side):
            rows, high, low = buckets.get(_bucket(row), (0, 0, 0))
            buckets[_bucket(row)] = rows + 1, high + (_hash(row) >> 32), low + (_hash(row) & 0xFFFFFFFF)
        return Digest(buckets)

    def rows(self, side: Side, buckets: Sequence[int]) -> list[Row]:
        self.asked.append(f"rows {side}")
        return [row for row in self._of(side) if _bucket(row) in buckets][:MOST_ROWS]

    def order(self, side: Side) -> list[Row]:
        self.asked.append(f"order {side}")
        return [row[:1] for row in self._of(side)]

    def seconds(self, side: Side) -> float:
        self.asked.append(f"seconds {side}")
        return self.times[side]

    def processor_seconds(self) -> float | None:
        return self.processor

    def decided(self) -> tuple[QueryStory, ...]:
        return (replace(STORY, joins=self.joins),)

    def applied(self) -> tuple[str, ...]:
        return ("limit of 3 rows: 1 of 9 files read",)

    def plan(self, side: Side) -> str:
        return f"the plan of {side}"


def compared(sides: Sides, runs: int = 3) -> Comparison:
    return compare(sides, runs, lambda _: None)


def ordered(*by: str, **more: Any) -> QueryShape:
    return QueryShape(is_ordered=True, ordered_by=by, **more)


# Rows


@given(st.lists(st.tuples(st.integers(0, 9), st.text(max_size=2))), st.randoms(use_true_random=False))
def test_rows_in_any_order_are_equal_and_nothing_more_is_asked(rows: list[Row], random: Any) -> None:
    sides = Sides(rows, random.sample(rows, len(rows)))
    assert compared(sides).rows.verdict == "equal"
    assert sides.asked[:3] == ["digest off", "digest apply", "seconds off"]


@pytest.mark.parametrize("apply", [[(1, "a")], [(1, "a"), (2, "c")], [(1, "a"), (2, "b"), (2, "b")], []])
def test_rows_that_differ_are_shown_and_nothing_is_timed(apply: list[Row]) -> None:
    found = compared(Sides([(1, "a"), (2, "b")], apply))
    assert (found.rows.verdict, found.rows.rows, found.off_seconds) == ("differ", 2, ())
    assert repr(found).startswith(f"ROWS DIFFER: 2 rows with the mode off, {len(apply)} with apply\n")
    assert any(line.split(" alone: ")[0] in ("off", "apply") for line in found.rows.examples)
    assert all(part in found.report for part in ("the plan of off", "the plan of apply", '"joinId"'))


def test_doubles_may_differ_in_their_last_digits_and_no_further() -> None:
    on_a_boundary, last, further = (1.0000005, 1.0000005000000001, 1.00001)
    near = compared(Sides([("k", 0.5), ("l", on_a_boundary)], [("k", 0.5), ("l", on_a_boundary - 1e-12)]))
    assert near.rows.verdict == "equal"
    assert "doubles to seven digits, apart from their last digits" in near.rows.found
    assert compared(Sides([("l", last)], [("l", further)])).rows.verdict == "differ"


def test_a_query_that_spark_alone_answers_otherwise_in_each_run_is_not_compared() -> None:
    found = compared(Sides([(1,)], [(2,)], again=[(3,)]))
    assert (found.rows.verdict, len(found.off_seconds), "the plan of off" in found.report) == ("unsettled", 3, True)
    assert "Spark alone gives other rows in each run" in found.rows.found


def test_rows_that_are_gone_when_they_are_looked_at_are_not_equal() -> None:
    sides = Sides([(1,)], [(2,)], again=[(3,)])
    sides.rows = lambda side, buckets: []  # type: ignore[method-assign]
    assert compared(sides).rows.verdict == "unsettled"


def test_what_leaves_the_rows_open_is_named() -> None:
    shape = QueryShape(unstable=("LIMIT without ORDER BY", "row_number()"))
    found = compared(Sides([(1,)], [(2,)], shape)).rows
    assert found.verdict == "unsettled"
    assert "leaves open which rows it has: LIMIT without ORDER BY, row_number(). So nothing is proved; " in found.found
    assert compared(Sides([(1,)], [(1,)], shape)).rows.verdict == "equal"


def test_a_limit_may_take_any_of_the_rows_that_tie_in_order_by_and_no_others() -> None:
    shape = ordered("k", limits_ordered=True)
    tied = compared(Sides([(1, "a"), (2, "b")], [(1, "a"), (2, "c")], shape)).rows
    assert (tied.verdict, "tie in ORDER BY" in tied.found) == ("unsettled", True)
    assert compared(Sides([(1, "a"), (2, "b")], [(1, "a"), (3, "c")], shape)).rows.verdict == "differ"
    assert compared(Sides([(1, "a"), (2, "b")], [(1, "a")], shape)).rows.verdict == "differ"
    unseen = ordered(limits_ordered=True)
    assert compared(Sides([(1, "a"), (2, "b")], [(1, "a"), (3, "c")], unseen)).rows.verdict == "unsettled"


def test_after_order_by_the_order_of_its_keys_is_compared_and_rows_that_tie_may_stand_in_any() -> None:
    rows: list[Row] = [(1, "a"), (1, "b"), (2, "c")]
    tied = compared(Sides(rows, [rows[1], rows[0], rows[2]], ordered("k"))).rows
    assert (tied.verdict, "in the order of k" in tied.found) == ("equal", True)
    other = compared(Sides(rows, rows[::-1], ordered("k")))
    assert (other.rows.verdict, "not in the same order" in other.rows.found) == ("differ", True)
    assert other.report


def test_an_order_that_is_not_compared_is_said() -> None:
    many = [(number,) for number in range(MOST_ORDERED_ROWS + 1)]
    for sides, why in ((Sides(many, many, ordered("k")), "100,000 rows"), (Sides([], [], ordered()), "not by columns")):
        found = compared(sides).rows
        assert (found.verdict, why in found.found) == ("equal", True)
        assert "order off" not in sides.asked


def test_an_answer_without_a_row_proves_little() -> None:
    assert "no row, so little is proved" in compared(Sides([], [])).rows.found


def test_many_rows_that_differ_are_no_last_digits() -> None:
    same, other = ([(number, float(number) + add) for number in range(MOST_ROWS)] for add in (0.0, 0.0))
    sides = Sides([*same, ("x", 1.0)], [*other, ("y", 1.0)])
    assert compared(sides).rows.verdict == "differ"


def test_a_query_that_fails_with_the_plugin_alone_is_a_finding_and_one_that_fails_without_it_an_error() -> None:
    found = compared(Sides([(1,)], [(1,)], failing=("apply",)))
    assert found.rows.verdict == "failed"
    assert repr(found).startswith("FAILED with the plugin: and not without it: [DIVIDE_BY_ZERO] Division by zero.")
    assert "the plan of apply" in found.report
    with pytest.raises(StatementError, match=r"fails without the plugin: .DIVIDE_BY_ZERO"):
        compared(Sides([(1,)], [(1,)], failing=("off", "apply")))


def test_the_answer_of_a_command_is_refused() -> None:
    sides = Sides([(1,)], [(1,)], QueryShape(is_command=True))
    with pytest.raises(StatementError, match="answer of a command"):
        compared(sides)
    assert sides.asked == []


# Seconds


def test_sides_take_turns_and_each_pair_begins_with_the_side_that_ended_the_last() -> None:
    sides = Sides([(1,)], [(1,)])
    compared(sides, runs=3)
    timed = [one.removeprefix("seconds ") for one in sides.asked if one.startswith("seconds")]
    assert timed == ["off", "apply", "apply", "off", "off", "apply"]


def test_the_gain_is_told_from_noise_by_its_interval() -> None:
    clear, unclear = gain_of((3.0, 3.1, 2.9), (1.0, 1.05, 0.95)), gain_of((1.0, 1.4, 0.9), (1.1, 0.9, 1.0))
    assert (clear.is_noise, unclear.is_noise) == (False, True)
    assert clear.interval is not None
    assert clear.interval[0] < clear.times < clear.interval[1]
    single = gain_of((3.0,), (1.0,))
    assert (round(single.times, 6), single.interval, single.is_noise) == (3.0, None, True)


@given(st.lists(st.tuples(st.floats(0.01, 1e3), st.floats(0.01, 1e3)), min_size=2, max_size=30))
def test_a_gain_lies_in_its_interval_and_turns_over_with_its_sides(pairs: list[tuple[float, float]]) -> None:
    off, apply = ([pair[side] for pair in pairs] for side in (0, 1))
    gain, loss = gain_of(off, apply), gain_of(apply, off)
    assert gain.interval is not None
    assert gain.interval[0] <= gain.times * (1 + 1e-9)
    assert gain.times <= gain.interval[1] * (1 + 1e-9)
    assert gain.times * loss.times == pytest.approx(1)
    assert gain.is_noise == loss.is_noise


# How it is shown


def test_a_comparison_shows_rows_seconds_gain_and_the_joins_that_changed() -> None:
    joins = (*STORY.joins, JoinStory(LEFT, (), ()))
    found = compared(Sides([(1,)], [(1,)], joins=joins))
    shown = " ".join(repr(found).split())
    assert len(found.changed) == 1
    for part in (
        "Rows equal: 1 row, compared by a checksum of every column, doubles to seven digits, in any order",
        "3.00 times as fast with the plugin (95 % interval of 3 pairs of runs: 3.00 to 3.00), more than noise",
        "1 of 2 joins changed",
        "id j1",
        "limit of 3 rows: 1 of 9 files read",
        "filters planned",
    ):
        assert part in shown
    assert found._repr_html_() == html_of(*found._tables())
    assert "<td" in found._repr_html_()
    assert json.loads(json.dumps(encode(found)))["offSeconds"] == [3.0, 3.0, 3.0]


def test_beside_an_engine_there_are_no_processor_times_since_it_works_outside_of_tasks() -> None:
    native = JoinStory(replace(DECISION, facts=replace(FACTS, engine="Comet")), (), (), saving=SAVING)
    found = compared(Sides([(1,)], [(1,)], joins=(native,)))
    assert (found.off_processor_seconds, found.apply_processor_seconds) == ((), ())
    assert "Comet works outside of Spark's tasks, so there are no processor times." in " ".join(repr(found).split())
    assert compared(Sides([(1,)], [(1,)])).off_processor_seconds == (4.0, 4.0, 4.0)


def test_a_broadcast_that_spares_a_shuffle_is_why_a_join_changed() -> None:
    facts = replace(FACTS, spark_strategy="broadcast")
    plain = replace(DECISION, choice="broadcast", build_filter=False, facts=facts)
    for spares in (True, False):
        join = JoinStory(plain, (), (), saving=replace(SAVING, spares_shuffle=spares))
        shown = " ".join(repr(compared(Sides([(1,)], [(1,)], joins=(join,)))).split())
        assert ("broadcast before the probe side is shuffled" in shown) == spares


@pytest.mark.parametrize(
    ("apply", "heading"),
    [
        (1.0, "No join of 1 changed, so the difference is probably the machine's"),
        (9.0, "No join of 1 changed, so the difference is probably the machine's, or of the plugin's rules"),
        (3.0, "No join of 1 changed id j1"),
    ],
)
def test_a_comparison_in_which_no_join_changed_says_so_and_keeps_the_id(apply: float, heading: str) -> None:
    left = JoinStory(replace(LEFT, facts=replace(LEFT.facts, waiting=None)), (), ())
    sides = Sides([(1,)], [(1,)], joins=(left,), times={"off": 3.0, "apply": apply})
    found = replace(compared(sides), applied=())
    shown = " ".join(repr(found).split())
    assert heading in shown
    assert "id j1" in shown
    assert found.suspects == (left,)


def test_a_comparison_in_which_no_join_changed_says_how_long_probe_sides_waited_for_nothing() -> None:
    assert LEFT.facts.waiting is not None
    wait = replace(LEFT.facts.waiting, outcome="unused", waited_millis=6200.0)
    waited = JoinStory(replace(LEFT, facts=replace(LEFT.facts, waiting=wait)), (), ())
    other = JoinStory(replace(LEFT, facts=replace(LEFT.facts, waiting=None)), (), ())
    found = compared(Sides([(1,)], [(1,)], joins=(other, waited)))
    assert "No join of 2 changed, but probe sides waited 6.2 s for build sides" in " ".join(repr(found).split())
    assert found.suspects == (waited,)


def test_the_id_of_a_join_is_in_one_piece_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    long = replace(DECISION, facts=replace(FACTS, join_id=f"inner:{'ss_ticket_number=sr_ticket_number,' * 4}"))
    joins = (replace(STORY.joins[0], decision=long),)
    lines = repr(compared(Sides([(1,)], [(1,)], joins=joins))).splitlines()
    assert long.join_id in {word for line in lines for word in line.split()}
    assert max(len(line) for line in lines if long.join_id not in line) <= 80


def test_the_gain_is_the_ratio_of_the_means_that_stand_below_it() -> None:
    found = Comparison(RowsCompared("equal", "1 row", 1), (1.0, 4.0), (1.0, 1.0), (5.0, 7.0), (2.0, 2.0))
    _, off, apply = (line.split() for line in repr(found).splitlines() if " s " in line or "mode" in line)
    assert found.gain is not None
    assert (off[:3], apply[:3], round(found.gain.times, 6)) == (["off", "2.00", "s"], ["apply", "1.00", "s"], 2.0)
    assert (off[-2:], apply[-2:]) == (["6.00", "s"], ["2.00", "s"])


def test_an_interval_that_holds_1_shows_no_difference_and_says_what_to_do() -> None:
    rows = RowsCompared("equal", "1 row", 1)
    shown = " ".join(repr(Comparison(rows, (1.0, 1.4, 0.9), (1.1, 0.9, 1.0))).split())
    assert "No difference shown: " in shown
    assert "the 95 % interval of 3 pairs of runs, 0.5" in shown
    assert "holds 1; more runs: --runs." in shown
    assert "No difference shown: 3.00 times" in repr(Comparison(rows, (3.0,), (1.0,)))


def test_a_session_that_does_not_tell_processor_time_has_no_column_of_it() -> None:
    told, untold = (repr(compared(Sides([(1,)], [(1,)], processor=one))) for one in (4.0, None))
    assert ("processor" in told, "4.00 s" in told, "processor" in untold) == (True, True, False)


def test_a_cache_that_both_sides_read_is_said() -> None:
    assert "It reads a cache" in repr(compared(Sides([(1,)], [(1,)], QueryShape(reads_cache=True))))
