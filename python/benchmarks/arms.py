"""The options that each join of a query has, and the confs that force one of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqe_plugin.api.decided import join_in
from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.json_values import decode_text
from aqe_plugin.events.model import JoinDecision, JoinFacts, Strategy
from aqe_plugin.events.queries import JoinStory
from benchmarks.configs import MODE_KEY, Contender

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORCE_KEY = "spark.aqePlugin.force"

OFF = Contender("off", "Spark without the plugin", {MODE_KEY: "off"})
PLUGIN = Contender("plugin", "the plugin's own choices", {MODE_KEY: "apply", FORCE_KEY: ""})
PINNED = "pinned"

# Prices of options that a gate of the plugin leaves unpriced.
_OPEN = json.dumps({"filter.minProbeRows": 0, "filter.maxPassRate": 1})


@dataclass(frozen=True)
class Passed:
    """Rows that the filters of one join checked and let pass, in a run in which no task paused them.

    Row groups and partitions that a filter's values leave out are not read, so their rows are in neither.
    """

    rows_in: int
    rows_out: int

    @property
    def rate(self) -> float | None:
        return self.rows_out / self.rows_in if self.rows_in else None


@dataclass(frozen=True)
class JoinPlan:
    """What a decision makes of the plan: decisions of equal `JoinPlan` are the same option under different names.

    Attributes:
        option: with the method that Spark takes, where that is left to Spark.
        waited: the probe side waited for the build side.
    """

    option: str
    waited: bool


@dataclass(frozen=True)
class Join:
    """One join as the plugin decided it by itself.

    Attributes:
        join_id: as `spark.aqePlugin.force` takes it.
        keys: the conditions as SQL.
        chosen: the option, as `spark.aqePlugin.force` names it.
        why: codes of the reasons of the method and of the filter.
        waited_in_vain: the probe side waited and has no filter and no new broadcast; forcing the option would not wait.
        prices: predicted milliseconds of every option that can be forced, the chosen one included.
        pass_rate: as estimated.
        pass_rate_source: what it was estimated from.
        plan: what the choice makes of the query's plan.
        is_counted: the number of distinct keys of the build side was measured; None where it does not matter: the join
            was left to Spark, its build side did not finish first or has all rows of its table, or no scan was left to
            filter.
    """

    join_id: str
    keys: str
    chosen: str
    why: tuple[str, str]
    waited_in_vain: bool
    prices: Mapping[str, float | None]
    pass_rate: float
    pass_rate_source: str
    plan: "JoinPlan"
    is_counted: bool | None = None

    @property
    def alternatives(self) -> tuple[str, ...]:
        return tuple(option for option in self.prices if option != self.chosen)


def option_name(strategy: Strategy, with_filter: bool) -> str:
    """The option's name in `spark.aqePlugin.force`."""
    return JoinOption(strategy, with_filter).name


def join_of(decided: JoinDecision, priced: JoinDecision) -> Join:
    """The join of a decision.

    Args:
        priced: the decision without gates, and as if the probe side waited.
    """
    facts = decided.facts
    prices = {option_name(one.strategy, one.with_filter): one.cost_millis for one in priced.options}
    prices = {name: price for name, price in prices.items() if price is not None}
    # Without a legal filter, no probe side can wait, for a new broadcast neither.
    may_filter = any(one.with_filter and one.cost_millis is not None for one in priced.options)
    broadcasts = facts.build.already_broadcast or facts.spark_strategy == "broadcast"
    is_kept = facts.spark_strategy in ("shuffled_hash", "leave_to_spark")
    may_change = facts.hint is None and not is_kept and facts.build.rows >= 0
    if not may_change:
        options = ["leave_to_spark", "leave_to_spark+filter"] if may_filter else ["leave_to_spark"]
    else:
        unwaited = (_spark_option(facts, False), option_name("shuffled_hash", False))
        options = [name for name in prices if may_filter or name in unwaited]
        if broadcasts and not facts.build.already_broadcast:
            options.append("leave_to_spark")
    chosen = option_name(decided.choice, decided.build_filter)
    if decided.choice == "leave_to_spark" and chosen not in options:
        chosen = _spark_option(facts, decided.build_filter)
    of_spark = {
        option_name("leave_to_spark", filtered): prices.get(_spark_option(facts, filtered))
        for filtered in (False, True)
    }
    plan = plan_of(decided)
    is_new_broadcast = decided.choice == "broadcast" and not facts.build.already_broadcast
    return Join(
        join_id=facts.join_id,
        keys=", ".join(facts.keys),
        chosen=chosen,
        why=(decided.reason.code, decided.filter_reason.code),
        waited_in_vain=plan.waited and not decided.build_filter and not is_new_broadcast,
        prices={name: prices.get(name, of_spark.get(name)) for name in dict.fromkeys([chosen, *options])},
        pass_rate=decided.pass_rate,
        pass_rate_source=decided.pass_rate_source or "unknown",
        plan=plan,
        is_counted=has_counted_keys(decided),
    )


def has_counted_keys(decided: JoinDecision) -> bool | None:
    """As `Join.is_counted`."""
    facts, build = decided.facts, decided.facts.build
    is_finished = build.already_broadcast or build.partitions > 0
    has_all_rows = build.origin_rows is not None and build.rows >= build.origin_rows
    if decided.choice == "leave_to_spark" or not is_finished or has_all_rows or facts.probe.targets == 0:
        return None
    return build.keys.distinct is not None


def plan_of(decided: JoinDecision) -> JoinPlan:
    waiting = decided.facts.waiting
    option = _named(option_name(decided.choice, decided.build_filter), decided.facts)
    return JoinPlan(option, waiting is not None and waiting.waits)


def _named(option: str, facts: JoinFacts) -> str:
    """The option, with the name of Spark's method where that is left to Spark."""
    with_filter = option == option_name("leave_to_spark", True)
    is_left = with_filter or option == option_name("leave_to_spark", False)
    return _spark_option(facts, with_filter) if is_left else option


def _spark_option(facts: JoinFacts, with_filter: bool) -> str:
    """The method that Spark takes by itself, as an option."""
    if facts.build.already_broadcast or facts.spark_strategy == "broadcast":
        return option_name("broadcast", with_filter)
    if facts.spark_strategy == "shuffled_hash":
        return option_name("shuffled_hash", with_filter)
    return option_name("filtered_sort_merge" if with_filter else "plain_sort_merge", with_filter)


def forced(joins: Sequence[Join], changed: Join | None = None, option: str = "") -> str:
    """The value of `spark.aqePlugin.force` that keeps every choice but that of `changed`.

    A join whose probe side waited in vain is left to the plugin, which chooses the same from the same facts: forcing
    its option would leave out the wait.
    """
    kept = [one for one in joins if one != changed and not one.waited_in_vain]
    entries = [f"{one.join_id}={one.chosen}" for one in kept]
    return ";".join([*entries, *([] if changed is None else [f"{changed.join_id}={option}"])])


def contenders_of(joins: Sequence[Join]) -> list[Contender]:
    """The plugin and Spark without it; and if there are other options, those, and the plugin's choices forced."""
    apply = {MODE_KEY: "apply"}
    alternatives = [
        Contender(arm_name(one, option), "", {**apply, FORCE_KEY: forced(joins, one, option)})
        for one in joins
        for option in one.alternatives
    ]
    if not alternatives:
        return [PLUGIN, OFF]
    control = Contender(PINNED, "the plugin's choices, forced", {**apply, FORCE_KEY: forced(joins)})
    return [PLUGIN, OFF, control, *alternatives]


def arm_name(join: Join, option: str) -> str:
    return f"{join.join_id}={option}"


def refusal(option: str, decided: JoinDecision | None) -> str:
    """Why the option that was forced on the join was not taken; empty when it was."""
    if decided is None:
        return "not decided"
    if plan_of(decided).option == _named(option, decided.facts):
        return ""
    method, _, added = option.partition("+")
    wants_filter = added == "filter" or method == "filtered_sort_merge"
    return decided.filter_reason.code if wants_filter and not decided.build_filter else decided.reason.code


def deviation(joins: Sequence[Join], decided: Mapping[str, JoinDecision]) -> str:
    """The first join whose choice is not the learned one, in words; empty when all are."""
    learned = {join.join_id: join.plan.option for join in joins}
    found = {join_id: plan_of(decision).option for join_id, decision in decided.items()}
    for join_id in sorted(learned.keys() | found.keys()):
        before, now = learned.get(join_id, "not decided"), found.get(join_id, "not decided")
        if before != now:
            return f"{join_id}: {now}, learned: {before}"
    return ""


def passed_of(story: JoinStory) -> Passed | None:
    """What the filters of a join let pass; None when there was none, or a task paused one."""
    worked = [one for one in story.outcomes if one.reason is None and one.rows_in]
    if not worked or any(one.rows_unchecked for one in worked):
        return None
    return Passed(sum(one.rows_in for one in worked), sum(one.rows_out for one in worked))


@dataclass(frozen=True)
class Decided:
    """A join of a query that has ended.

    Attributes:
        facts: of its decision, as JSON.
    """

    story: JoinStory
    facts: str


_DECIDED = """
SELECT events, facts FROM aqe_decisions()
WHERE description = :name AND execution_id = (SELECT max(execution_id) FROM aqe_decisions() WHERE description = :name)
"""


def decided_joins(spark: "SparkSession", description: str) -> dict[str, Decided]:
    """Join id → what was decided in the latest query of this description."""
    # Returns once every query that has ended is recorded.
    spark.sql("SELECT count(*) FROM aqe_metrics()").collect()
    rows = spark.sql(_DECIDED, {"name": description}).collect()
    found = [Decided(join_in(row.events), row.facts) for row in rows]
    return {one.story.decision.facts.join_id: one for one in found}


def priced(spark: "SparkSession", facts: str) -> JoinDecision:
    """The decision for these facts without gates, and as if the probe side waited."""
    row = spark.sql("SELECT aqe_decide(:facts, :open)", {"facts": unstarted(facts), "open": _OPEN}).collect()[0]
    return decode_text(JoinDecision, row[0].encode())


def unstarted(facts: str) -> str:
    """The facts of a join as if its probe side waited.

    What has started has no scan that a filter could reach. Whether there was one before, the wait's reason says.
    """
    whole = json.loads(facts)
    probe, waiting = whole["probe"], whole.get("waiting")
    had_none = waiting is not None and waiting["reason"]["code"] == "NO_TARGET_SCAN"
    if (probe["started"] or probe["targets"] == 0) and not had_none:
        probe.update(started=False, targets=max(1, probe["targets"]))
    return json.dumps(whole)
