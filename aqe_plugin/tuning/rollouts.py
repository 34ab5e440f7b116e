"""Every step of every rollout, who made it, when, why and on what evidence: JSON lines, only ever added to.

``rollouts.jsonl`` is beside the journal of the file that all applications read. The last line says where the last
rollout stands. It holds values of the plugin's own keys alone, so that anybody may read it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.changes import Change
from aqe_plugin.codec import decode, encode
from aqe_plugin.disk import append_line, make_folder, read_or_none
from aqe_plugin.errors import EventSchemaError, JournalError
from aqe_plugin.journal import journal_of
from aqe_plugin.tuning.recommendation import Evidence
from aqe_plugin.tuning.rings import Ring

__all__ = ["SCHEMA_VERSION", "RolloutStep", "last_step", "rollouts_of", "write_step"]

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """One step of one rollout.

    Attributes:
        number: of the rollout, from 1.
        at_millis: milliseconds since 1970.
        ring: the ring that it is in from now on.
        why: what decided it, with the numbers.
        asked_why: what the person who carried it out gave as the reason.
        changes: of the file that all applications read, made when the ring ``all`` is reached.
        canary: the file that a part of the applications reads, ``None`` when there is none.
        canary_changes: those made to that file, once they are.
        evidence: what the recommendation rested on.
        confidence: probability that the change saves time, as it was when it was recommended.
    """

    schema_version: int
    number: int
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


def rollouts_of(file: Path) -> tuple[RolloutStep, ...]:
    """Every step, oldest first; lines that are cut off or no step of ours are left out.

    Raises:
        JournalError: a newer aqe-plugin wrote it.
        TargetError: it cannot be read.
    """
    lines = (read_or_none(_path(file)) or b"").splitlines()
    return tuple(step for step in (_step(line, file) for line in lines) if step is not None)


def last_step(file: Path) -> RolloutStep | None:
    """Where the last rollout stands, ``None`` when there never was one.

    Raises:
        JournalError: as for ``rollouts_of``.
        TargetError: likewise.
    """
    steps = rollouts_of(file)
    return steps[-1] if steps else None


def write_step(file: Path, step: RolloutStep) -> None:
    """Adds ``step``.

    Raises:
        WriteError: it is not written down.
    """
    make_folder(_path(file).parent.parent, 0o755)
    make_folder(_path(file).parent, 0o755)
    append_line(_path(file), json.dumps(encode(step)).encode())


def _path(file: Path) -> Path:
    return journal_of(file).folder / "rollouts.jsonl"


def _step(line: bytes, file: Path) -> RolloutStep | None:
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
