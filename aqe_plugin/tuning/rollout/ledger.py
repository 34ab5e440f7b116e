"""Every step of every rollout, with who, when, why and on what evidence: JSON lines that are only appended.

``rollouts.jsonl`` is beside the journal of the file that all applications read. It holds values of the plugin's own
keys, and ids of applications with their durations. A step has two lines, one from before the files are changed and one
from after, so that the next command recognizes a step that was interrupted, and finishes it. Where the step forward of
a change in force was refused, the second line is that of the step before, once more. A look at new logs that found
pairs of applications, or errors of the plugin without the change, has a line with them: they count from then on as they
are, also when their logs are gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import EventSchemaError, StateError
from aqe_plugin.events.json_values import Json, decode, encode
from aqe_plugin.install.journal import Phase, json_lines
from aqe_plugin.machine.disk import append_line, lock
from aqe_plugin.tuning.recommendation import Evidence
from aqe_plugin.tuning.rollout.application_pairs import Pair
from aqe_plugin.tuning.rollout.rings import Ring

T = TypeVar("T")

# The group of a rollout of values that somebody asked for.
ASKED = "asked"
ASKED_WHY = "given by --set or --values"

SCHEMA_VERSION = 4


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """One step of one rollout.

    Attributes:
        number: of the rollout, from 1.
        phase: ``begun`` before the files are changed, ``done`` after.
        at_millis: milliseconds since 1970.
        ring: the ring from this step on.
        why: the reason for the step, with its numbers.
        asked_why: the reason that the person who took the step gave.
        changes: made when the rollout reaches the ring ``all``.
        evidence: that of the recommendation.
        confidence: the recommendation's probability of saving time.
        canary_share: the share of the applications that try the changes first; ``None`` without a canary.
        before_until_millis: applications that started until then read the values from before the step.
        after_since_millis: those that started later read its values. What started in between counts for neither: the
            clocks of this machine and of the cluster may differ, and a step of somebody else is found later.
    """

    schema_version: int
    number: int
    phase: Phase
    at_millis: int
    who: str
    ring: Ring
    why: str
    asked_why: str
    group: str
    changes: tuple[Change, ...]
    evidence: Evidence
    confidence: float
    before_until_millis: int
    after_since_millis: int
    canary_share: float | None = None

    @property
    def id(self) -> str:
        """The same in both lines of the step, in the journal, and for no other step of the target."""
        return f"{self.number}-{self.ring.value}-{self.at_millis}"

    @property
    def has_canary(self) -> bool:
        """Whether a part of the applications tries the changes first."""
        return self.canary_share is not None


@dataclass(frozen=True, slots=True)
class LookAtLogs:
    """What one look at the logs added to what is known of a ring.

    Attributes:
        number: of the rollout.
        at_millis: when, in milliseconds since 1970.
        until_millis: the newest time in these logs.
        faulty: fingerprints in which the plugin had errors without the change.
        left: why the step back is due that is left to somebody else, ``None`` when none is.
    """

    schema_version: int
    number: int
    ring: Ring
    at_millis: int
    pairs: tuple[Pair, ...]
    until_millis: int
    faulty: tuple[str, ...]
    left: str | None = None

    @property
    def held_until(self) -> int:
        """Applications that started until then read the values of the ring, as the look found it in force."""
        return min(self.at_millis, self.until_millis)


def looks_of(file: ConfStore, number: int) -> tuple[LookAtLogs, ...]:
    """What looks at the logs kept in the rollout ``number``, oldest first."""
    seen = (_decoded(LookAtLogs, value) for value in _values(file))
    return tuple(one for one in seen if one and one.number == number)


def rollouts_of(file: ConfStore) -> tuple[RolloutStep, ...]:
    """Every step once, in its last phase, oldest first; lines that are incomplete or no step are left out."""
    steps: list[RolloutStep] = []
    for step in (_decoded(RolloutStep, value) for value in _values(file)):
        if step is None:
            continue
        if step.phase == "done" and steps and steps[-1].phase == "begun":
            steps.pop()
        # After a step that was refused, the one before has a second line.
        if step not in steps[-1:]:
            steps.append(step)
    return tuple(steps)


def damaged_lines(file: ConfStore) -> list[int]:
    """The numbers of the ledger's lines that are no JSON: cut off, or damaged."""
    return json_lines(_path(file))[1]


def step_before_last(steps: Sequence[RolloutStep], file: ConfStore) -> RolloutStep:
    """The step before the last one of ``steps``, of the same rollout of ``file``.

    Raises:
        StateError: the ledger has no readable line of it.
    """
    number = steps[-1].number
    if len(steps) < 2 or steps[-2].number != number:
        raise StateError(
            f"{_path(file)}: a line is missing or damaged: rollout no. {number} has no step before its last one, which "
            "was interrupted. Restore this file from a backup. Without a backup, check the values of "
            f"{file.name}, correct them if need be, and move this file away; the next rollout begins anew."
        )
    return steps[-2]


@contextmanager
def locked(file: ConfStore) -> Iterator[None]:
    """Holds the rollouts of ``file`` for one process at a time."""
    file.make_journal_folder()
    with lock(_path(file).with_suffix(".lock")):
        yield


def write(file: ConfStore, line: RolloutStep | LookAtLogs) -> None:
    """Appends ``line``."""
    file.make_journal_folder()
    append_line(_path(file), json.dumps(encode(line)).encode())


_BEGIN_ANEW = (
    "end a rollout that is under way with the version that began it, or remove its canary.* keys from the target; "
    "then move this file away; the next rollout begins anew"
)


def _path(file: ConfStore) -> Path:
    return file.journal_folder / "rollouts.jsonl"


def _values(file: ConfStore) -> Iterator[Json]:
    """The lines as JSON, but for those that are none, such as one that was cut off.

    Raises:
        StateError: a line of another version.
    """
    for _, value in json_lines(_path(file))[0]:
        version = value.get("schemaVersion") if isinstance(value, dict) else None
        if isinstance(version, int) and version != SCHEMA_VERSION:
            cure = "upgrade it" if version > SCHEMA_VERSION else _BEGIN_ANEW
            raise StateError(f"{_path(file)}: schemaVersion {version}, this aqe-plugin reads {SCHEMA_VERSION}: {cure}.")
        yield value


def _decoded(shape: type[T], value: Json) -> T | None:
    try:
        return decode(shape, value)
    except (TypeError, EventSchemaError):
        return None
