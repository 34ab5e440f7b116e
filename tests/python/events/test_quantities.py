"""Numbers with their units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.events.quantities import quantities, quantity


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0, "bytes", "0 B"),
        (1023, "bytes", "1,023 B"),
        (1024, "bytes", "1.0 KiB"),
        (96.2 * 1024**2, "bytes", "96.2 MiB"),
        (999, "millis", "999 ms"),
        (1000, "millis", "1.0 s"),
        (0.0412, "ratio", "4.12 %"),
        (0.99996, "ratio", "99.996 %"),
        (1, "ratio", "100 %"),
        (9999, "rows", "9,999 rows"),
        (28_800_000, "rows", "28.8 M rows"),
        (2, "filters", "2 filters"),
        (1.5, "", "1.5"),
    ],
)
def test_a_quantity_has_a_readable_scale(value: float, unit: str, words: str) -> None:
    assert quantity(value, unit) == words


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["bytes", "millis", "ratio", "rows", "", "x"]))
def test_every_number_has_a_text(value: float, unit: str) -> None:
    assert quantity(value, unit).strip()


@pytest.mark.parametrize(
    ("first", "second", "unit", "words"),
    [
        (72.31, 71.84, "millis", ("72.3 ms", "71.8 ms")),
        (72.0001, 72.0, "millis", ("72.0001 ms", "72.0000 ms")),
        (999.9, 1000.1, "millis", ("999.9 ms", "1.00 s")),
        (1234.0, 1239.0, "millis", ("1.23 s", "1.24 s")),
        (64.0 * 1024**2, 64.01 * 1024**2, "bytes", ("64.00 MiB", "64.01 MiB")),
        (0.41234, 0.41231, "ratio", ("41.234 %", "41.231 %")),
        (1_200_000, 1_210_000, "rows", ("1.20 M rows", "1.21 M rows")),
        (5, 7, "millis", ("5 ms", "7 ms")),
        (5, 5, "millis", ("5 ms", "5 ms")),
    ],
)
def test_two_numbers_that_differ_look_different(first: float, second: float, unit: str, words: tuple[str, str]) -> None:
    assert quantities(first, second, unit) == words


def test_one_of_a_thing_is_no_plural() -> None:
    assert [quantity(value, "rows") for value in (0, 1, 2, 1000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]
    assert quantity(1, "millis") == "1 ms"
