"""The plugin's own keys: what they may hold is what the generated table says."""

from __future__ import annotations

import pytest

from aqe_plugin.conf.keys import conf_keys, number_of, problem_of

# Names and numbers.
_SIMPLE_KEYS = [key for key in conf_keys().values() if key.type != "joins"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mode", "Observe"),
        ("filter.maxBytes", "64m"),
        ("filter.maxBytes", "1 GB"),
        ("filter.falsePositiveRate", "1e-4"),
        ("filter.exactMaxKeys", "10000000"),
        ("test.openGates", "TRUE"),
        ("force", ""),
        ("force", "*=no_filter"),
        ("force", " inner:a=b,c=d#2=Broadcast+filter ;\n*=plain_sort_merge; "),
    ],
)
def test_an_allowed_value_is_no_problem(key: str, value: str) -> None:
    assert problem_of(f"spark.aqePlugin.{key}", value) == ""


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("mode", "on", "not allowed: expected one of off, observe, apply"),
        ("filter.maxBytes", "2g", "not allowed: expected a number of bytes from 1k to 1g"),
        ("filter.maxBytes", "1023", "not allowed: expected a number of bytes from 1k to 1g"),
        ("filter.exactMaxKeys", "1.5", "not allowed: expected a whole number of keys from 0 to 10000000"),
        ("filter.exactMaxKeys", "10000001", "not allowed: expected a whole number of keys from 0 to 10000000"),
        ("filter.falsePositiveRate", "NaN", "not allowed: expected a number from 1.0E-4 to 0.5"),
        ("filter.maxPassRate", "", "not allowed: expected a number from 0 to 1"),
        ("filter.maxByte", "1m", "unknown key, the plugin ignores it; did you mean spark.aqePlugin.filter.maxBytes?"),
        ("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "1", "unknown key, the plugin ignores it"),
    ],
)
def test_a_problem_names_the_allowed_values(key: str, value: str, problem: str) -> None:
    assert problem_of(f"spark.aqePlugin.{key}", value) == problem


@pytest.mark.parametrize("value", ["broadcast", "=broadcast", "*=brodcast", "*=filter; a=filter; * =no_filter", "a=b"])
def test_a_forced_join_needs_a_known_option_and_comes_once(value: str) -> None:
    problem = problem_of("spark.aqePlugin.force", value)
    assert problem.startswith("not allowed: expected entries `join=option` separated by `;`")
    assert problem.endswith("leave_to_spark, leave_to_spark+filter, filter, no_filter")


def test_every_key_allows_its_own_limits() -> None:
    for key in _SIMPLE_KEYS:
        separator = ", " if key.allowed.startswith("one of ") else " to "
        for value in key.allowed.removeprefix("one of ").split(separator):
            assert problem_of(key.key, value) == "", key


def test_a_number_is_read_in_its_keys_unit() -> None:
    assert number_of("spark.aqePlugin.filter.maxBytes", "64m") == 64 * 1024**2
    assert number_of("spark.aqePlugin.filter.maxPassRate", "0.7") == 0.7
    assert number_of("spark.aqePlugin.filter.maxPassRate", "7") is None
    assert number_of("spark.aqePlugin.mode", "apply") is None
    assert number_of("spark.aqePlugin.filter.none", "1") is None


def test_a_default_lies_within_the_limits() -> None:
    for key in _SIMPLE_KEYS:
        if key.allowed.startswith("one of "):
            with pytest.raises(ValueError, match="is not a number"):
                _ = key.limits
        else:
            low, high = key.limits
            default = number_of(key.key, key.default)
            assert default is not None
            assert low <= default <= high
