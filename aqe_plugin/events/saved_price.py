"""What a join saved, by the prices in its event."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

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
    """The price of each option that has one, in milliseconds, had the share ``passed`` of rows passed the filter."""
    beyond = _beyond(decision.pass_rate, passed)
    prices = {option: price.at(beyond) for option, price in prices_of(decision).items()}
    return {option: price for option, price in prices.items() if math.isfinite(price)}


@dataclass(frozen=True, slots=True)
class Price:
    """An option's price, in milliseconds: the filter's ``own``, and the rest at the expected share of rows that pass
    and when all of them do.

    Taken as linear between the two, which only sorting and work in other scans are not quite.
    """

    own: float
    expected: float
    whole: float

    def at(self, beyond: float) -> float:
        """The price so far ``beyond`` the expected share: 0 is there, 1 is where every row passes."""
        return self.own + max(0.0, self.expected + (self.whole - self.expected) * beyond)


def prices_of(decision: JoinDecision) -> dict[JoinOption, Price]:
    """The price of each option that has one.

    The event has prices at the expected share. Where every row passes, that of an option with a filter is its own and
    that of the method without one.
    """
    priced = {
        JoinOption(one.strategy, one.with_filter): one
        for one in decision.options
        if one.cost_millis is not None and math.isfinite(one.cost_millis)
    }
    prices = {}
    for option, one in priced.items():
        price, method = one.cost_millis or 0.0, option.strategy
        plain = priced.get(JoinOption("plain_sort_merge" if method == "filtered_sort_merge" else method, False))
        if not option.with_filter:
            prices[option] = Price(0.0, price, price - _millis(one, _OF_OTHER_SCANS))
        elif plain is None:
            prices[option] = Price(0.0, price, price)
        else:
            own = _millis(one, _OF_FILTER)
            prices[option] = Price(own, price - own, (plain.cost_millis or 0.0) - _millis(plain, _OF_OTHER_SCANS))
    return prices


@dataclass(frozen=True, slots=True)
class JoinChange:
    """How a join was changed; what its saving needs of the decision, and no more, as daemons keep it by the thousand.

    Attributes:
        pass_rate: the expected share.
        of_spark: the price of Spark's own option.
        filtered: that of what runs if its filter works; ``unfiltered`` if it does not. ``None`` without a price.
    """

    mode: Mode
    scan_rows: int
    pass_rate: float
    of_spark: Price
    filtered: Price | None
    unfiltered: Price | None

    def saved_millis(self, rows: tuple[int, int] | None, worked: bool) -> float:
        """As :func:`predicted_saving`; 0 where it is not known.

        Args:
            rows: as of :attr:`JoinStory.measured`.
        """
        beyond = _beyond(self.pass_rate, None if rows is None else rows[1] / rows[0])
        price = self.filtered if worked else self.unfiltered
        saved = 0.0 if price is None else self.of_spark.at(beyond) - price.at(beyond)
        return saved if math.isfinite(saved) else 0.0


def change_of(decision: JoinDecision, mode: Mode) -> JoinChange | None:
    """The change; ``None`` for a join that runs as by Spark itself, or by an unknown price."""
    prices, spark = prices_of(decision), decision.facts.spark_strategy

    def price(option: JoinOption | None) -> Price | None:
        return None if option is None else prices.get(option)

    of_spark = price(carried_out(spark, spark, False))
    if mode == "apply":
        ways = [carried_out(spark, decision.choice, has_filter) for has_filter in (decision.build_filter, False)]
    else:
        ways = [taken_by(decision)] * 2
    filtered, unfiltered = map(price, ways)
    if of_spark is None or (filtered in (None, of_spark) and unfiltered in (None, of_spark)):
        return None
    return JoinChange(mode, decision.facts.probe.scan_rows, decision.pass_rate, of_spark, filtered, unfiltered)


def _beyond(pass_rate: float, passed: float | None) -> float:
    rest = 1 - pass_rate
    return 0.0 if passed is None or not rest > 0 else (passed - pass_rate) / rest


def _millis(option: WeighedOption, names: str) -> float:
    """The parts of a price whose names begin with ``names``; old logs have none."""
    return math.fsum(term.nanos for term in option.terms or () if term.name.startswith(names)) / 1e6
