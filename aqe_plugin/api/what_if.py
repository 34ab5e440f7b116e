"""Replays the decisions of a query under other thresholds, by the plugin's own function ``aqe_decide``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqe_plugin.api.tables import Shown, Table
from aqe_plugin.api.thresholds import conf_values, threshold_keys
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.errors import ConfError
from aqe_plugin.events.describe import describe_join, describe_price, describe_reason, describe_strategy
from aqe_plugin.events.json_values import decode, encode
from aqe_plugin.events.model import JoinDecision

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Used before a join is decided or while its filter works, so no replayed decision can show their effect.
_NOT_IN_A_DECISION = (
    "wait.",
    "sketch.",
    "sample.",
    "filter.selfDisable.",
    "filter.buildTimeout",
    "filter.slotTimeout",
    "filter.inListMaxKeys",
    "filter.maxPerScan",
    "cost.scanNanosPerByte",
    "limit.",
)
_FORCED = "FORCED"
_MEMORY_KEY = f"{PREFIX}broadcast.maxMemoryBytes"


@dataclass(frozen=True, slots=True)
class JoinReplayed:
    """One join, decided three times from the same facts.

    Attributes:
        decided: at run time.
        now: replayed under the thresholds of the session.
        then: replayed under the other thresholds.
    """

    decided: JoinDecision
    now: JoinDecision
    then: JoinDecision

    @property
    def is_forced(self) -> bool:
        """Whether the user forced the choice or the filter, which a replay knows nothing of."""
        weighed = (option.reason for option in self.decided.options)
        return _FORCED in {reason.code for reason in (self.decided.reason, self.decided.filter_reason, *weighed)}

    @property
    def is_replayed(self) -> bool:
        """Whether the replay under the session's thresholds confirms the decision.

        If not, more than facts and thresholds settled the join.
        """
        return not self.is_forced and _what(self.decided) == _what(self.now)

    @property
    def changes(self) -> bool:
        """Whether the other thresholds give another choice, or another filter."""
        return self.is_replayed and _what(self.now) != _what(self.then)


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf(Shown):
    """What other thresholds would have changed.

    Attributes:
        ran: a sentence: what was run to find out.
        thresholds: the other values by full key.
        joins: every join, in the order of the decisions.
    """

    ran: str
    thresholds: Mapping[str, str]
    joins: tuple[JoinReplayed, ...]

    @property
    def changed(self) -> tuple[JoinReplayed, ...]:
        """The joins that would have changed."""
        return tuple(join for join in self.joins if join.changes)

    def _tables(self) -> tuple[Table, ...]:
        asked = ", ".join(f"{key} = {value}" for key, value in self.thresholds.items())
        heading = f"{len(self.changed)} of {len(self.joins)} joins would change with {asked}"
        if unknown := sum(not join.is_replayed for join in self.joins):
            heading += f"; {unknown} cannot be replayed"
        notes = [
            self.ran,
            "The decision is replayed for the facts of this run; waits, and the effect on the joins above, are not.",
        ]
        if _MEMORY_KEY in self.thresholds:
            notes.append("spark.driver.maxResultSize and spark.sql.maxBroadcastTableSize limit broadcasts as well.")
        return (Table(heading, ("join", "now", "then"), tuple(map(_row, self.joins)), tuple(notes)),)


def replayable_values(changes: Mapping[str, object]) -> dict[str, str]:
    """By full key, the values of thresholds whose effect a replay can show.

    Raises:
        ConfError: there are none, or one is unknown, out of range or not used in a decision.
    """
    if not changes:
        raise ConfError("No threshold was given: what_if(frame, filter_max_pass_rate=0.3).")
    values = conf_values(changes)
    for name, key in zip(changes, values, strict=True):
        if key.removeprefix(PREFIX).startswith(_NOT_IN_A_DECISION):
            raise ConfError(
                f"{key} is used before or after a decision, so a replay cannot show its effect. "
                f"Try it: with aqe.override({name}={changes[name]!r}): aqe.analyze(frame)."
            )
    return values


def what_if(
    spark: SparkSession,
    ran: str,
    decisions: Sequence[JoinDecision],
    present: Mapping[str, float],
    asked: Mapping[str, str],
) -> WhatIf:
    """Replays ``decisions`` with one query of ``aqe_decide`` over their facts, which reads no table.

    Args:
        present: the session's thresholds by name.
        asked: values by full key, which replace the present ones.
    """
    now = {threshold_keys()[name].key: value for name, value in present.items()}
    then = {**now, **asked}
    thresholds = [json.dumps(now), json.dumps(then)]
    facts = [json.dumps(encode(decision.facts)) for decision in decisions]
    again = _decided_again(spark, [(one, other) for one in facts for other in thresholds])
    joins = zip(decisions, again[::2], again[1::2], strict=True)
    return WhatIf(ran, dict(asked), tuple(JoinReplayed(*join) for join in joins))


def _decided_again(spark: SparkSession, cases: Sequence[tuple[str, str]]) -> list[JoinDecision]:
    """The decision for each pair of facts and thresholds."""
    if not cases:
        return []
    rows = [(number, facts, thresholds) for number, (facts, thresholds) in enumerate(cases)]
    frame = spark.createDataFrame(rows, "number int, facts string, thresholds string")
    answers = frame.selectExpr("number", "aqe_decide(facts, thresholds) AS decision").collect()
    texts = {row.number: row.decision for row in answers}
    return [decode(JoinDecision, json.loads(texts[number])) for number in range(len(cases))]


def _what(decision: JoinDecision) -> tuple[object, bool]:
    return decision.choice, decision.build_filter


def _row(join: JoinReplayed) -> tuple[str, str, str]:
    if join.is_forced:
        now, then = join.decided, f"cannot be replayed: {PREFIX}force settles this join"
    elif not join.is_replayed:
        now, then = join.decided, "cannot be replayed: more than facts and thresholds settled this join"
    else:
        now, then = join.now, _in_words(join.then) if join.changes else "the same"
    return describe_join(join.decided.facts).replace("; ", "\n"), _in_words(now), then


def _in_words(decision: JoinDecision) -> str:
    price = describe_price(decision)
    lines = (
        f"{describe_strategy(decision.choice, decision.build_filter)}{f', {price}' if price else ''}",
        describe_reason(decision.reason),
        f"{'filter' if decision.build_filter else 'no filter'}: {describe_reason(decision.filter_reason)}",
    )
    return "\n".join(lines)
