"""The plugin's own conf keys and what may stand in them, from the table that the Scala side generates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType

__all__ = [
    "CANARY",
    "CANARY_REPLACES",
    "CANARY_SET",
    "CANARY_SHARE",
    "PREFIX",
    "ConfKey",
    "conf_keys",
    "number_of",
    "problem_of",
]

PREFIX = "spark.aqePlugin."
# A canary: what share of the applications tries which values, in the place of which.
CANARY = f"{PREFIX}canary."
CANARY_SHARE = f"{CANARY}share"
CANARY_SET = f"{CANARY}set."
CANARY_REPLACES = f"{CANARY}replaces."
_BYTES = re.compile(r"(\d+)\s*([kmgt]?)b?")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?[dDfF]?")
_WHOLE = re.compile(r"[+-]?\d+")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True, slots=True)
class ConfKey:
    """One key; ``allowed`` is ``one of a, b`` or ``low to high``, in the key's own way of writing values.

    Attributes:
        default: as a conf would write it.
        per_session: whether each session may have its own value, so that it may be tried by a share of applications.
        threshold: its name in Python, if decisions are held against it and users may set it.
    """

    key: str
    type: str
    unit: str
    allowed: str
    default: str
    per_session: bool
    threshold: str | None = None

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the most that a number may be, in the key's unit.

        Raises:
            ValueError: the key is no number.
        """
        low, _, high = self.allowed.partition(" to ")
        least, most = _number(self.type, low), _number(self.type, high)
        if least is None or most is None:
            raise ValueError(f"{self.key} is no number")
        return least, most


@cache
def conf_keys() -> Mapping[str, ConfKey]:
    """Every key of the plugin, those for its own tests included."""
    table = json.loads((Path(__file__).parent / "conf_table.json").read_text(encoding="utf-8"))
    return MappingProxyType(
        {
            entry["key"]: ConfKey(
                entry["key"],
                entry["type"],
                entry["unit"],
                entry["allowed"],
                entry["defaultText"],
                entry["perSession"],
                entry.get("threshold"),
            )
            for entry in table["keys"]
        }
    )


def number_of(key: str, value: str) -> float | None:
    """``value`` in the unit of ``key``; ``None`` when it is not allowed, or the key is unknown or no number."""
    known = _described(key)
    return None if known is None or problem_of(key, value) else _number(known.type, value)


def problem_of(key: str, value: str) -> str:
    """What the plugin will have against ``key`` = ``value``, empty when nothing; for keys below :data:`PREFIX`."""
    known = _described(key)
    if known is None:
        consequence = "and nothing is tried" if key.startswith(CANARY) else "the plugin ignores it"
        close = get_close_matches(key, _candidates(key), n=1)
        return f"unknown key, {consequence}{f'; meant was {close[0]}?' if close else ''}"
    if known.allowed.startswith("one of "):
        fits = value.lower() in known.allowed.removeprefix("one of ").split(", ")
    else:
        low, _, high = known.allowed.partition(" to ")
        number = _number(known.type, value)
        least, most = _number(known.type, low), _number(known.type, high)
        fits = number is not None and least is not None and most is not None and least <= number <= most
    return "" if fits else f"not allowed: expected {known.allowed}{f' {known.unit}' if known.unit else ''}"


def _described(key: str) -> ConfKey | None:
    """``key``, which may be one for a value that is tried: what is allowed is what the key itself allows."""
    family = _family(key)
    if family is None:
        return conf_keys().get(key)
    known = conf_keys().get(PREFIX + key.removeprefix(family))
    return replace(known, key=key) if known is not None and known.per_session else None


def _candidates(key: str) -> list[str]:
    family = _family(key)
    if family is None:
        return list(conf_keys())
    return [family + known.key.removeprefix(PREFIX) for known in conf_keys().values() if known.per_session]


def _family(key: str) -> str | None:
    return next((family for family in (CANARY_SET, CANARY_REPLACES) if key.startswith(family)), None)


def _number(kind: str, text: str) -> float | None:
    if kind == "bytes":
        match = _BYTES.fullmatch(text.lower())
        return None if match is None else int(match[1]) * 1024 ** _POWERS[match[2]]
    if kind == "integer":
        return int(text) if _WHOLE.fullmatch(text) else None
    match = _NUMBER.fullmatch(text.strip())
    return None if match is None else float(text.strip().rstrip("dDfF"))
