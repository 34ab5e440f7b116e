"""How long to wait for a server that is down, slow or busy."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a server is asked.

    Attributes:
        first_wait_seconds: upper end of the first, random wait; it doubles each time.
        longest_wait_seconds: no wait is longer, even when the server asks for it by ``Retry-After``.
        request_seconds: how long a connection, and then each part of an answer, may take.
    """

    attempts: int = 6
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 10.0
    request_seconds: float = 15.0

    def ask(self, call: Callable[[], T], trouble: Callable[[Exception], str], say: Callable[[str], None]) -> T:
        """The answer of ``call``, which is repeated while it raises an error that may pass.

        Args:
            trouble: of an error that may pass, what is wrong with the server; empty for any other error.
            say: receives a sentence before each wait.

        Raises:
            Exception: whatever ``call`` raised last.
        """
        for attempt in range(1, self.attempts):
            try:
                return call()
            except Exception as error:
                reason = trouble(error)
                if not reason:
                    raise
                seconds = self._wait_seconds(attempt, error)
                say(f"{reason}, try {attempt} of {self.attempts}; trying again in {seconds:.1f} s.")
            time.sleep(seconds)
        return call()

    def _wait_seconds(self, attempt: int, error: Exception) -> float:
        asked = str((getattr(error, "headers", None) or {}).get("Retry-After", ""))
        if asked.isdigit():
            return min(float(asked), self.longest_wait_seconds)
        # Not a secret: it keeps clients that failed together from returning together.
        return random.uniform(0, min(self.first_wait_seconds * 2 ** (attempt - 1), self.longest_wait_seconds))  # noqa: S311
