"""What a join saved, by the prices in its event."""

from __future__ import annotations

import math
from collections.abc import Mapping

from aqe_plugin.events.join_option import JoinOption, carried_out, taken_by
from aqe_plugin.events.model import JoinDecision, Mode, Strategy, WeighedOption
from aqe_plugin.events.queries import JoinStory

# The names of the parts of a price that only an option with a filter has, and only one without.
_OF_FILTER, _OF_OTHER_SCANS = "filter ", "other scans"


def predicted_saving(join: JoinStory, mode: Mode) -> float | None:
    """By how much the price of what ran is below that of Spark's own option, in milliseconds, at the measured pass rate
    where there is one; ``None`` where it has no price. In mode observe that of the option that was decided."""
    rows = join.measured
    prices = prices_at(join.decision, None if rows is None else rows[1] / rows[0])
    return saved_millis(prices, join.decision.facts.spark_strategy, option_of(join, mode))


def is_changed(join: JoinStory, mode: Mode) -> bool:
    """Whether the join ran or, in mode observe, would have run otherwise than by Spark itself."""
    option = option_of(join, mode)
    return option is not None and option != join.ran_as("observe")


def option_of(join: JoinStory, mode: Mode) -> JoinOption | None:
    """What ran or, in mode observe, would have run."""
    return join.ran_as(mode) if mode == "apply" else taken_by(join.decision)


def saved_millis(
    prices: Mapping[JoinOption, float], spark_strategy: Strategy, option: JoinOption | None
) -> float | None:
    """The price of Spark's own option less that of ``option``; ``None`` where one of them has no price.

    ``pipeline.priced_joins`` says the same in columns; a test compares the two.
    """
    of_spark = carried_out(spark_strategy, spark_strategy, False)
    if option == of_spark:
        return 0.0
    if option is None or of_spark is None or option not in prices or of_spark not in prices:
        return None
    return prices[of_spark] - prices[option]


def prices_at(decision: JoinDecision, passed: float | None) -> dict[JoinOption, float]:
    """The price of each option that has one, in milliseconds, had the share ``passed`` of rows passed the filter.

    The event has prices at the expected share. Apart from the filter's own, they are taken as linear between it and 1,
    where they are those of the method without a filter, which only sorting and work in other scans are not quite.
    """
    priced = {
        JoinOption(one.strategy, one.with_filter): one
        for one in decision.options
        if one.cost_millis is not None and math.isfinite(one.cost_millis)
    }
    rest = 1 - decision.pass_rate
    beyond = 0.0 if passed is None or not rest > 0 else (passed - decision.pass_rate) / rest
    prices = {}
    for option, one in priced.items():
        price, method = one.cost_millis or 0.0, option.strategy
        plain = priced.get(JoinOption("plain_sort_merge" if method == "filtered_sort_merge" else method, False))
        if not option.with_filter:
            price -= beyond * _millis(one, _OF_OTHER_SCANS)
        elif plain is not None:
            own = _millis(one, _OF_FILTER)
            work, whole = price - own, (plain.cost_millis or 0.0) - _millis(plain, _OF_OTHER_SCANS)
            price = own + max(0.0, work + (whole - work) * beyond)
        if math.isfinite(price):
            prices[option] = price
    return prices


def _millis(option: WeighedOption, names: str) -> float:
    """The parts of a price whose names begin with ``names``; old logs have none."""
    return math.fsum(term.nanos for term in option.terms or () if term.name.startswith(names)) / 1e6
