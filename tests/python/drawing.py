"""The draw of a canary's applications, computed as the plugin does (``tests/vectors/canary``)."""

from __future__ import annotations

from hashlib import sha256

__all__ = ["draws", "position"]

_DOUBLE_BITS = 53


def position(application_id: str) -> float:
    """From 0 up to but not including 1: the first 53 bits of the SHA-256 of the id in UTF-8, as a fraction."""
    digest = int.from_bytes(sha256(application_id.encode()).digest()[:8], "big")
    return (digest >> (64 - _DOUBLE_BITS)) / (1 << _DOUBLE_BITS)


def draws(application_id: str, share: float) -> bool:
    """Whether an application is drawn; if so, it is also drawn with any larger share."""
    return position(application_id) < share
