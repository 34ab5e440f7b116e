"""What a sketch costs is compared round by round."""

from benchmarks.sketch import HEAD, KEYS, Pairs, SketchCost, line_of

_CPU = Pairs((4.0, 8.0, 5.0), (5.0, 8.8, 5.5))
_WALL = Pairs((2.0, 4.0, 2.0), (2.0, 2.0, 3.0))
_COST = SketchCost(KEYS["few"], 1_000_000_000, 500, _CPU, _WALL)


def test_a_ratio_is_of_the_two_runs_of_one_round() -> None:
    assert _WALL.ratios == [1.0, 0.5, 1.5]


def test_nanoseconds_per_row_are_the_processor_time_that_the_sketch_added() -> None:
    assert [round(nanos, 6) for nanos in _COST.added_nanos_per_row] == [1.0, 0.8, 0.5]


def test_a_line_has_medians_and_the_range_of_each_ratio() -> None:
    assert line_of(_COST) == (
        "| few | 500 | 500 | 5.00 | 5.50 | 1.100 (1.100 to 1.250) | 0.8 (0.5 to 1.0) "
        "| 2.00 | 2.00 | 1.000 (0.500 to 1.500) |"
    )


def test_a_line_has_a_cell_for_each_column() -> None:
    assert {row.count("|") for row in (*HEAD.splitlines(), line_of(_COST))} == {11}


def test_a_key_that_was_not_counted_is_a_dash() -> None:
    assert line_of(SketchCost(KEYS["many"], 8, None, _CPU, _WALL)).startswith("| many | 10^8 | - |")


def test_the_name_of_a_key_is_that_of_a_column() -> None:
    assert all(name.isidentifier() for name in KEYS)
