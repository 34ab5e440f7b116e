"""Every step of every rollout, who made it, when, why and on what evidence: JSON lines, only ever added to.

``rollouts.jsonl`` is beside the journal of the file that all applications read. It holds values of the plugin's own
keys alone, so that anybody may read it. Two lines are written for each step, one before the files are touched and one
after, so that a step that was cut off can be told, and finished, by the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.stores.file_store import Where, store_of
from aqe_plugin.errors import EventSchemaError, JournalError
from aqe_plugin.events.json_values import decode, encode
from aqe_plugin.install.journal import Phase, journal_of
from aqe_plugin.machine.disk import append_line, lock, read_or_none
from aqe_plugin.tuning.recommendation import Evidence
from aqe_plugin.tuning.rollout.rings import Ring

__all__ = ["SCHEMA_VERSION", "RolloutStep", "locked", "rollouts_of", "write_step"]

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """One step of one rollout.

    Attributes:
        number: of the rollout, from 1.
        phase: ``begun`` before the files are touched, ``done`` after.
        at_millis: milliseconds since 1970.
        ring: the ring that it is in from now on.
        why: what decided it, with the numbers.
        asked_why: what the person who carried it out gave as the reason.
        changes: of the file that all applications read, made when the ring ``all`` is reached.
        canary: the file that a part of the applications reads, ``None`` when there is none.
        canary_changes: those made for the canary, once they are: to its file, or to that of all for a share.
        evidence: what the recommendation rested on.
        confidence: probability that the change saves time, as it was when it was recommended.
        canary_share: the share of the applications that try it first, by keys of the one file that all of them read;
            ``None`` when ``canary`` does, or nobody.
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
    canary: str | None
    canary_changes: tuple[Change, ...]
    evidence: Evidence
    confidence: float
    canary_share: float | None = None

    @property
    def has_canary(self) -> bool:
        """Whether there is a part of the applications to try it on first."""
        return self.canary is not None or self.canary_share is not None


def rollouts_of(file: Where) -> tuple[RolloutStep, ...]:
    """Every step once, with how far it came, oldest first; lines that are cut off or no step of ours are left out.

    Raises:
        JournalError: a newer aqe-plugin wrote it.
        TargetError: it cannot be read.
    """
    lines = (read_or_none(_path(file)) or b"").splitlines()
    steps: list[RolloutStep] = []
    for step in (_step(line, file) for line in lines):
        if step is None:
            continue
        if step.phase is Phase.DONE and steps and steps[-1].phase is Phase.BEGUN:
            steps.pop()
        steps.append(step)
    return tuple(steps)


@contextmanager
def locked(file: Where) -> Iterator[None]:
    """Holds the rollouts of ``file`` for one process at a time.

    Raises:
        ConflictError: another process is at them.
        WriteError: the lock cannot be made.
    """
    store_of(file).make_journal_folder()
    with lock(_path(file).with_suffix(".lock")):
        yield


def write_step(file: Where, step: RolloutStep) -> None:
    """Adds ``step``.

    Raises:
        WriteError: it is not written down.
    """
    store_of(file).make_journal_folder()
    append_line(_path(file), json.dumps(encode(step)).encode())


def _path(file: Where) -> Path:
    return journal_of(file).folder / "rollouts.jsonl"


def _step(line: bytes, file: Where) -> RolloutStep | None:
    try:
        value = json.loads(line)
        if isinstance(value, dict) and isinstance(value.get("schemaVersion"), int):
            version = value["schemaVersion"]
            if version > SCHEMA_VERSION:
                raise JournalError(
                    f"{_path(file)}: schemaVersion {version}, this aqe-plugin reads up to {SCHEMA_VERSION}: upgrade it."
                )
        return decode(RolloutStep, value)
    except (ValueError, RecursionError, EventSchemaError):
        return None
