"""How long a server that is down, slow or busy is waited for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Patience"]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server is waited for.

    Attributes:
        attempts: how often it is asked.
        first_wait_seconds: upper end of the first wait between two; it doubles each time.
        longest_wait_seconds: no wait is longer, even when the server asks for that by ``Retry-After``.
        request_seconds: how long a connection, and after it each part of an answer, may take.
    """

    attempts: int = 6
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 10.0
    request_seconds: float = 15.0
