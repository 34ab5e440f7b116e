"""What all machines know of an object: the lines of its journal and its rollouts, and the backups, in one short text.

The logs are only appended to, so the lines themselves say who knows more: whose lines begin with the other's. No clock
and no counter is compared. Lines with pairs of applications are left out once a later rollout has begun, because only
the rollout under way reads them; the machine that saw them keeps them.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from hashlib import sha256
from typing import Any, TypeGuard

from aqe_plugin.errors import StateError

FORMAT = 1
LOGS = ("journal.jsonl", "rollouts.jsonl")
_DOMAIN = "aqeplugin.io/"
# Of all annotations of an object together a server takes 256 KiB; other tools need theirs.
MOST_BYTES = 128 * 1024
_MOST_OF_ALL_BYTES = 256 * 1024
# An edited text may expand to anything.
_MOST_UNPACKED_BYTES = 64 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_MOST_NAME_CHARS = 63
_ESCAPED = "surrogateescape"


@dataclass(frozen=True, slots=True)
class SharedState:
    """The state of one target.

    Attributes:
        target: where the conf is; a copied object has the annotation of the one that it was copied from.
        logs: by name, without the lines that nobody reads any more; each line ends.
        backups: by digest.
    """

    target: str
    logs: Mapping[str, bytes]
    backups: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not any(self.logs.values())

    @property
    def left(self) -> frozenset[str]:
        """Digests of what the conf may hold since the last change of the journal; two where its end is not recorded.

        Empty without a change, and where the change left no conf.
        """
        changes = (one for one in map(_object, reversed(_lines(self.logs.get("journal.jsonl", b"")))) if "phase" in one)
        last = next(changes, {})
        names = {"begun": ("before", "after"), "abandoned": ("before",)}.get(str(last.get("phase")), ("after",))
        return frozenset(value for name in names if isinstance(value := last.get(name), str))


class Lead(Enum):
    """Which of two copies of a log knows more."""

    SAME = "same"
    THEIRS = "theirs"
    OURS = "ours"
    # Both were appended to apart from each other.
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Compared:
    """A log of this machine beside the shared one.

    Attributes:
        merged: what this machine's file is to hold.
        news: the shared lines that this machine has not.
    """

    lead: Lead
    merged: bytes
    news: tuple[bytes, ...] = ()


def annotation_name(key: str) -> str:
    """The annotation for a conf below ``key`` of a ConfigMap, or for an application's when it is empty."""
    name = f"state.{key}" if key else "state"
    if len(name) > _MOST_NAME_CHARS or not _NAME.fullmatch(name):
        name = f"state-{sha256(key.encode()).hexdigest()[:32]}"
    return _DOMAIN + name


def room_for(annotation: str, annotations: Mapping[str, str]) -> int:
    """How many bytes ``annotation`` may have beside the others of its object."""
    sizes = {
        name: len(name.encode()) + len(value.encode()) for name, value in annotations.items() if name != annotation
    }
    ours = sum(size for name, size in sizes.items() if name.startswith(_DOMAIN))
    return min(MOST_BYTES - ours, _MOST_OF_ALL_BYTES - sum(sizes.values())) - len(annotation)


def packed(state: SharedState, room: int) -> str | None:
    """``state`` as a text of at most ``room`` bytes, without its oldest backups where there is no room for all.

    Returns:
        ``None`` when not even the lines fit.
    """
    journal = state.logs.get("journal.jsonl", b"")
    # The last line that names a backup says how new it is.
    newest = sorted(state.backups, key=lambda name: journal.rfind(name.encode()), reverse=True)

    def text_with(count: int) -> str:
        return _text(state, {name: state.backups[name] for name in sorted(newest[:count])})

    whole = text_with(len(newest))
    if len(whole) <= room:
        return whole
    fits, too_many = -1, len(newest)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if len(text_with(middle)) <= room:
            fits = middle
        else:
            too_many = middle
    return None if fits < 0 else text_with(fits)


def unpacked(text: str, where: str) -> SharedState:
    """The state in ``text``, the value of an annotation.

    Args:
        where: the annotation, for an error.

    Raises:
        ValueError: it is not what ``packed`` made; with the reason.
        StateError: a newer aqe-plugin made it.
    """
    try:
        compressed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("it is not base64") from error
    try:
        inflating = zlib.decompressobj()
        content = inflating.decompress(compressed, _MOST_UNPACKED_BYTES)
    except zlib.error as error:
        raise ValueError("it is not what zlib compressed") from error
    if not inflating.eof:
        raise ValueError("it was cut off, or is too large")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    version = value.get("format") if isinstance(value, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise StateError(
            f"{where}: it has format {version}, and this aqe-plugin reads up to {FORMAT}: upgrade aqe-plugin."
        )
    if version != FORMAT:
        raise ValueError("it has no format that is known")
    return _state(value)


def compared(here: bytes, there: bytes) -> Compared:
    """A log of this machine, ``here``, beside the shared one, ``there``.

    A last line that was cut off on this machine is completed from there, if it is the beginning of the next line.
    """
    end = here.rfind(b"\n") + 1
    whole, cut_off = here[:end], here[end:]
    latest = max(_latest_number(_lines(whole)), _latest_number(_lines(there)))
    ours, theirs = _read_yet(_lines(whole), latest), _read_yet(_lines(there), latest)
    following = theirs[len(ours) :] if theirs[: len(ours)] == ours else []
    if cut_off and not (following and following[0] != cut_off and following[0].startswith(cut_off)):
        whole += cut_off + b"\n"
        ours.append(cut_off)
        following = theirs[len(ours) :] if theirs[: len(ours)] == ours else []
    if following:
        return Compared(Lead.THEIRS, whole + _text_of(following), tuple(following))
    if ours == theirs:
        return Compared(Lead.SAME, here)
    if ours[: len(theirs)] == theirs:
        return Compared(Lead.OURS, here)
    alike = next(index for index, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1])
    return Compared(Lead.NEITHER, there, tuple(theirs[alike:]))


def without_spent(log: bytes) -> bytes:
    """The lines of ``log`` without those that nobody reads any more; each line ends."""
    lines = _lines(log)
    return _text_of(_read_yet(lines, _latest_number(lines)))


def signature(lines: Sequence[bytes]) -> str:
    """Who wrote the last signed line of ``lines``, and when, by the clock there; empty when no line says so."""
    for line in reversed(lines):
        value = _object(line)
        if isinstance(value.get("who"), str):
            return f"{value['who']}, {_time(value)}"
    return ""


def _time(value: Mapping[str, Any]) -> str:
    millis = value.get("atMillis")
    try:
        return datetime.fromtimestamp(millis / 1000, timezone.utc).isoformat(timespec="seconds")  # type: ignore[operator]
    except (TypeError, ValueError, OverflowError, OSError):
        return str(value.get("at", "at an unknown time"))


def _text(state: SharedState, backups: Mapping[str, bytes]) -> str:
    value = {
        "format": FORMAT,
        "target": state.target,
        "logs": {name: log.decode("utf-8", _ESCAPED) for name, log in sorted(state.logs.items())},
        "backups": {name: content.decode("utf-8", _ESCAPED) for name, content in backups.items()},
    }
    return base64.b64encode(zlib.compress(json.dumps(value).encode(), 9)).decode()


def _state(value: Mapping[str, Any]) -> SharedState:
    target, logs, backups = value.get("target"), value.get("logs"), value.get("backups")
    if not (isinstance(target, str) and _are_texts(logs) and _are_texts(backups)):
        raise ValueError("it lacks a part")
    try:
        state = SharedState(target, _as_bytes(logs), _as_bytes(backups))
    except UnicodeEncodeError as error:
        raise ValueError("it holds what is not text") from error
    if not set(state.logs) <= set(LOGS):
        raise ValueError("it holds a log that is not known")
    if any(sha256(content).hexdigest() != name for name, content in state.backups.items()):
        raise ValueError("a backup in it is not the one of its digest")
    return state


def _as_bytes(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.encode("utf-8", _ESCAPED) for name, text in texts.items()}


def _are_texts(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _lines(log: bytes) -> list[bytes]:
    lines = log.split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _text_of(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _read_yet(lines: Sequence[bytes], latest: int) -> list[bytes]:
    return [line for line in lines if not (b'"pairs"' in line and _is_spent(_object(line), latest))]


def _is_spent(value: Mapping[str, Any], latest: int) -> bool:
    return "pairs" in value and isinstance(value.get("number"), int) and value["number"] < latest


def _latest_number(lines: Sequence[bytes]) -> int:
    """The number of the latest rollout, or change, that a line names."""
    numbers = (_object(line).get("number") for line in lines)
    return max((number for number in numbers if isinstance(number, int)), default=0)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
