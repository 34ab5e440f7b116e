"""The runs of a query under every option of its joins."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.arms import OFF, PINNED, PLUGIN, Join, Passed
from benchmarks.intervals import Precision, Ratios, Seconds, is_settled, paired_ratios
from benchmarks.rounds import Timed, nearest_seconds

# Without one of them, or where its rows are wrong, there is nothing to compare.
_NEEDED = (PLUGIN.name, OFF.name, PINNED)


@dataclass
class Measured:
    """What was measured of one query; grows with every run.

    Attributes:
        joins: as the plugin decided them by itself.
        is_learned: `joins` is known.
        refused: arms that are no option of their own, each with the reason: it was not taken, or its plan is another's.
        failures: arms that failed and were not run since, each with the error.
        differing: arms with other rows than the first run of Spark without the plugin, each with the difference.
        passed: join id → what its filters let pass.
    """

    query: str
    joins: Sequence[Join] = ()
    is_learned: bool = True
    refused: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    differing: dict[str, str] = field(default_factory=dict)
    passed: dict[str, Passed] = field(default_factory=dict)
    _runs: dict[str, dict[int, list[Timed]]] = field(default_factory=dict)
    _rounds: dict[str, set[int]] = field(default_factory=dict)
    _deviating: dict[str, set[int]] = field(default_factory=dict)
    _errors: dict[str, int] = field(default_factory=dict)
    _exceeded: dict[str, float] = field(default_factory=dict)

    def add(self, line: Mapping[str, Any]) -> None:
        """Adds a run as it is in the file; a warm-up has no time that counts."""
        arm, turn = line["arm"], line["turn"]
        for found, name in ((self.refused, "refused"), (self.differing, "differs")):
            if name in line:
                found[arm] = line[name]
        for join_id, (rows_in, rows_out) in line.get("passed", {}).items():
            self.passed.setdefault(join_id, Passed(rows_in, rows_out))
        if "failure" in line:
            self._fail(arm, line["failure"], line.get("limit"))
        else:
            self.failures.pop(arm, None)
        if turn < 0:
            return
        self._rounds.setdefault(arm, set()).add(turn)
        if "deviates" in line:
            self._deviating.setdefault(arm, set()).add(turn)
        # What the plugin does by itself counts whatever it chose.
        if "failure" not in line and ("deviates" not in line or arm == PLUGIN.name):
            self._runs.setdefault(arm, {}).setdefault(turn, []).append(Timed(line["place"], line["seconds"]))

    def _fail(self, arm: str, why: str, limit: float | None) -> None:
        self.failures[arm] = why
        if limit is None:
            self._errors[arm] = self._errors.get(arm, 0) + 1
            self._exceeded.pop(arm, None)
        else:
            self._exceeded[arm] = limit

    def retry(self, limit_seconds: float) -> None:
        """Forgets failures of former sessions that say nothing final: a first error, and another limit exceeded."""
        for arm in list(self.failures):
            exceeded = self._exceeded.get(arm)
            if self._errors[arm] < 2 if exceeded is None else exceeded != limit_seconds:
                del self.failures[arm]

    @property
    def is_wrong(self) -> bool:
        """Whether the plugin's choices have wrong rows, or Spark alone has no rows that are right."""
        return any(arm in self.differing for arm in _NEEDED)

    @property
    def is_over(self) -> bool:
        """Whether nothing more can be measured: there is no run of the plugin, or no rows to compare it with."""
        return self.is_wrong or any(arm in self.failures for arm in _NEEDED)

    def is_active(self, arm: str, precision: Precision) -> bool:
        """Whether an arm other than `base_arm` needs further rounds."""
        if self.is_over or not self.is_candidate(arm) or len(self._rounds.get(arm, ())) >= precision.most_runs:
            return False
        ratios = self._spark_ratios if arm in (PLUGIN.name, OFF.name) else self.ratios(arm)
        return not is_settled(list(ratios.values()), precision)

    def is_candidate(self, arm: str) -> bool:
        """Whether the arm is an option that works."""
        return not any(arm in found for found in (self.refused, self.failures, self.differing))

    @property
    def next_turn(self) -> int:
        return 1 + max((turn for turns in self._rounds.values() for turn in turns), default=-1)

    @property
    def base_arm(self) -> str:
        """What the others are held against: the plugin's choices forced, or its own run where no join has an option."""
        return PINNED if any(join.alternatives for join in self.joins) else PLUGIN.name

    def seconds(self, arm: str) -> Seconds:
        """The arm's seconds in each round that counts; of two runs in a round the mean."""
        dropped = self._deviating.get(PINNED, set())
        return {turn: seconds for turn, seconds in self._all_seconds(arm).items() if turn not in dropped}

    def _all_seconds(self, arm: str) -> Seconds:
        rounds = self._runs.get(arm, {})
        return {turn: statistics.fmean(run.seconds for run in runs) for turn, runs in rounds.items()}

    @property
    def base(self) -> Seconds:
        return self.seconds(self.base_arm)

    def base_beside(self, arm: str) -> Seconds:
        """In each round that both have, the base's run that is nearer to the arm's."""
        base, own = self._runs.get(self.base_arm, {}), self._runs.get(arm, {})
        turns = self.base.keys() & self.seconds(arm).keys()
        return {turn: nearest_seconds(own[turn][0].place, base[turn]) for turn in sorted(turns)}

    def ratios(self, arm: str) -> Ratios:
        """Seconds of the arm per second of the base's nearer run, by round."""
        return paired_ratios(self.seconds(arm), self.base_beside(arm))

    @property
    def control_ratios(self) -> Ratios:
        """Seconds of the second run of the choices forced per second of the first, by round."""
        if self.base_arm != PINNED:
            return {}
        runs = {turn: self._runs[self.base_arm][turn] for turn in self.base}
        return {turn: both[1].seconds / both[0].seconds for turn, both in runs.items() if len(both) > 1}

    @property
    def own_ratios(self) -> Ratios:
        """Seconds of the plugin's own run per second of its choices forced, in rounds in which it chose the same."""
        return self._own_ratios(chosen_otherwise=False)

    @property
    def otherwise_ratios(self) -> Ratios:
        """The same in rounds in which it chose otherwise: what the other choices cost beside the learned ones."""
        return self._own_ratios(chosen_otherwise=True)

    def _own_ratios(self, chosen_otherwise: bool) -> Ratios:
        others = self._deviating.get(PLUGIN.name, set())
        ratios = self.ratios(PLUGIN.name) if self.base_arm == PINNED else {}
        return {turn: ratio for turn, ratio in ratios.items() if (turn in others) == chosen_otherwise}

    @property
    def _spark_ratios(self) -> Ratios:
        """Seconds of Spark alone per second of the plugin by itself, by round."""
        return paired_ratios(self._all_seconds(OFF.name), self._all_seconds(PLUGIN.name))

    @property
    def beside_spark(self) -> tuple[float, float] | None:
        """Median seconds of the plugin by itself and of Spark alone, over the rounds that have both; `None` without."""
        own, off = self._all_seconds(PLUGIN.name), self._all_seconds(OFF.name)
        both = sorted(own.keys() & off.keys())
        if not both:
            return None
        return statistics.median(own[turn] for turn in both), statistics.median(off[turn] for turn in both)

    @property
    def rounds(self) -> int:
        """Of the base."""
        return len(self._rounds.get(self.base_arm, ()))

    @property
    def rounds_dropped(self) -> int:
        """Those in which one of the choices that were forced was not taken."""
        return len(self._deviating.get(PINNED, ()))

    @property
    def own_runs(self) -> int:
        """Of the plugin by itself."""
        return len(self._rounds.get(PLUGIN.name, ()))

    @property
    def own_runs_chosen_otherwise(self) -> int:
        """Those in which it chose otherwise than in the runs that were learned from."""
        return len(self._deviating.get(PLUGIN.name, ()))

    @property
    def forced_runs(self) -> int:
        """Of single options."""
        return sum(len(turns) for arm, turns in self._rounds.items() if arm not in _NEEDED)

    @property
    def forced_runs_dropped(self) -> int:
        """Those whose option was not taken."""
        return sum(len(turns) for arm, turns in self._deviating.items() if arm not in _NEEDED)

    def seconds_left(self, arms: Sequence[str], precision: Precision) -> float:
        """What the missing rounds take at most if they go on as before, each with two runs of the base."""
        known = [seconds for arm in (self.base_arm, *arms) for seconds in self.seconds(arm).values()]
        missing = [max(0, precision.most_runs - len(self._rounds.get(arm, ()))) for arm in arms]
        return statistics.fmean(known or [0]) * (sum(missing) + 2 * max(missing, default=0))

    @property
    def wrong_rows(self) -> list[str]:
        return [f"{self.query}, {arm}: {what}" for arm, what in self.differing.items()]

    @property
    def failed(self) -> list[str]:
        return [f"{self.query}, {arm}: {why}" for arm, why in self.failures.items()]
