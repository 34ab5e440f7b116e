"""The scale factor that commands take."""

import argparse

import pytest

from workloads.scale import scale_factor

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("text", "scale"), [("1", 1.0), ("0.05", 0.05), ("1e2", 100.0)])
def test_a_scale_factor_is_a_number_above_0(text: str, scale: float) -> None:
    assert scale_factor(text) == scale


@pytest.mark.parametrize("text", ["0", "-1", "abc", "nan", "inf", ""])
def test_anything_else_is_refused_with_what_to_give(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"give a number above 0 \(with make: SF=1\)"):
        scale_factor(text)
