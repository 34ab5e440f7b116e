"""How long to wait for a server that is down, slow or busy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

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

    def ask(self, call: Callable[[], T], trouble: Callable[[BaseException], str], say: Callable[[str], None]) -> T:
        """The answer of ``call``, which is repeated while it raises an error that may pass.

        Args:
            trouble: of an error that may pass, what is wrong with the server; empty for any other error.
            say: receives a sentence before each wait.

        Raises:
            Exception: whatever ``call`` raised last.
        """

        def tell(state: RetryCallState) -> None:
            number, seconds = state.attempt_number, state.upcoming_sleep
            say(f"{trouble(_error(state))}, try {number} of {self.attempts}; trying again in {seconds:.1f} s.")

        return Retrying(
            retry=retry_if_exception(lambda error: bool(trouble(error))),
            stop=stop_after_attempt(self.attempts),
            wait=self._wait_seconds,
            before_sleep=tell,
            reraise=True,
        )(call)

    def _wait_seconds(self, state: RetryCallState) -> float:
        asked = str((getattr(_error(state), "headers", None) or {}).get("Retry-After", ""))
        if asked.isdigit():
            return min(float(asked), self.longest_wait_seconds)
        return wait_random_exponential(self.first_wait_seconds, self.longest_wait_seconds)(state)


def _error(state: RetryCallState) -> BaseException:
    error = None if state.outcome is None else state.outcome.exception()
    assert error is not None
    return error
