"""A table for documents has the median of every contender, and leaves a dash where there is none."""

from dataclasses import replace

from benchmarks.accounts import Account
from benchmarks.markdown import markdown_table, median_and_range
from benchmarks.measure import QueryResult, Timing

_WHOLE = QueryResult(
    "q93",
    (
        Timing("default", (9.0, 8.0, 8.5), 1, processor_seconds=(15.0, 17.0, 16.0)),
        Timing("plugin", (2.0, 3.0, 2.5), 1, processor_seconds=(5.0, 3.0, 4.0)),
    ),
    {},
)
_FAILED = QueryResult("q50", (Timing("default", (4.0,), 1), Timing("plugin", (), 0, "out of luck")), {})
_ACCOUNT = Account(planned=3, applied=3, errors=0, rule_share=0.012)


def test_a_line_has_the_medians_their_range_the_ratio_and_what_the_plugin_says_of_its_fastest_run() -> None:
    accounts = {"q93 plugin 1": _ACCOUNT, "q93 plugin 2": replace(_ACCOUNT, applied=2)}
    table = markdown_table([_WHOLE], ["default", "plugin"], accounts)
    assert table.splitlines() == [
        "| query | default | plugin | plugin vs default | plugin vs default, processor | filters | rules |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| q93 | 8.50 (8.00 to 9.00) | 2.50 (2.00 to 3.00) | 3.40x | 4.00x | 3 | 1.2% |",
    ]


def test_what_was_not_measured_is_a_dash() -> None:
    assert markdown_table([_FAILED], ["default", "plugin"], {}).splitlines()[-1] == "| q50 | 4.00 | - | - | - | - | - |"


def test_of_one_or_two_values_none_is_called_a_median() -> None:
    assert median_and_range([3.0], 1) == "3.0"
    assert median_and_range([3.0, 1.0], 2) == "3.00 and 1.00"


def test_a_median_stands_with_the_least_and_the_greatest_value() -> None:
    assert median_and_range([3.0, 1.0, 2.5], 1) == "2.5 (1.0 to 3.0)"
