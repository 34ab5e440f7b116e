"""The rollouts of one target, and a step of one that can be shown before it is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aqe_plugin.conf.target import ConfStore
from aqe_plugin.install.controller import Proposal
from aqe_plugin.install.journal import Actor
from aqe_plugin.tuning.history import QueryHistory
from aqe_plugin.tuning.rollout.attempts import tried_until
from aqe_plugin.tuning.rollout.file_changes import file_change
from aqe_plugin.tuning.rollout.ledger import SCHEMA_VERSION, LookAtLogs, RolloutStep, looks_of, rollouts_of
from aqe_plugin.tuning.rollout.rings import Ring, is_over
from aqe_plugin.tuning.rollout.step_times import between, since_others
from aqe_plugin.tuning.rollout.trial import Trial


@dataclass(frozen=True, slots=True)
class Rollouts:
    """The rollouts of one file.

    Attributes:
        file: the file that all applications read.
        steps: those of all its rollouts, oldest first.
        by: who takes the next step.
    """

    file: ConfStore
    steps: tuple[RolloutStep, ...]
    by: Actor

    @property
    def under_way(self) -> RolloutStep | None:
        """The last step of the rollout that is not over, ``None`` when there is none."""
        return self.steps[-1] if self.steps and not is_over(self.steps[-1].ring) else None

    def trial(self, history: QueryHistory) -> Trial:
        """The rollout that is under way, with the queries of readers of the file."""
        last = self.steps[-1]
        steps = tuple(step for step in self.steps if step.number == last.number)
        looks = looks_of(self.file, last.number)
        pairs = tuple(pair for look in looks if look.ring is last.ring for pair in look.pairs)
        # Applications without the change had these, whichever ring it was in.
        faulty = frozenset(name for look in looks for name in look.faulty)
        since_millis, tried_millis = since_others(self.earlier), tried_until(self.earlier, last.group)
        return Trial(steps, history, pairs, since_millis, faulty, tried_millis, self.now_millis)

    @property
    def earlier(self) -> tuple[RolloutStep, ...]:
        """The steps of the rollouts before the last one."""
        return tuple(step for step in self.steps if step.number < self.steps[-1].number)

    @property
    def now_millis(self) -> int:
        """Milliseconds since 1970."""
        return int(self.by.now().timestamp() * 1000)

    @property
    def next_millis(self) -> int:
        """The time of a step that is taken now: now, but later than any step before, whosever clock is behind."""
        return max(self.now_millis, self.steps[-1].at_millis + 1) if self.steps else self.now_millis


def read_rollouts(file: ConfStore, by: Actor) -> Rollouts:
    """The rollouts of ``file`` as this machine knows them."""
    return Rollouts(file, rollouts_of(file), by)


@dataclass(frozen=True, slots=True)
class NextStep:
    """A step that was not taken yet.

    Attributes:
        step: the ledger's last line about it.
        before: the ring until now, ``None`` when the rollout begins.
        first: the ledger's lines from before the file is changed.
        proposal: the change of the file, if any.
        interrupted: whether an earlier process began the step.
        look: what the look at the logs adds to what is known of the ring until now, if there was one.
    """

    step: RolloutStep
    before: Ring | None
    first: tuple[RolloutStep, ...] = ()
    proposal: Proposal | None = None
    interrupted: bool = False
    look: LookAtLogs | None = None

    @property
    def moves(self) -> bool:
        """Whether there is anything to do."""
        return self.step.ring is not self.before

    @property
    def changes_target(self) -> bool:
        """Whether the target has other values after it."""
        return self.moves and self.proposal is not None and not self.proposal.nothing_to_do


def moved(
    rollouts: Rollouts,
    last: RolloutStep,
    ring: Ring,
    why: str,
    first: tuple[RolloutStep, ...] = (),
    *,
    seen_until_millis: int | None = None,
) -> NextStep:
    """From ``last`` into ``ring``; ``first`` are lines of the ledger that go before those of the step."""
    proposal = file_change(last, ring, rollouts.file)
    step = between(replace(signed(rollouts, last), ring=ring, why=why), seen_until_millis)
    return NextStep(step, last.ring, (*first, replace(step, phase="begun")), proposal)


def signed(rollouts: Rollouts, last: RolloutStep) -> RolloutStep:
    """``last`` as a step that is taken now, by whoever takes it."""
    by = rollouts.by
    return replace(
        last,
        schema_version=SCHEMA_VERSION,
        at_millis=rollouts.next_millis,
        who=by.who,
        asked_why=by.why,
    )
