"""The one thing a file must be able to do to be installed into."""

from __future__ import annotations

from typing import Protocol

__all__ = ["TargetConf"]


class TargetConf(Protocol):
    """The Spark conf that a file holds, as a value: a change makes a new one and leaves every other byte as it was.

    ``with_value`` of a key that is absent, and then ``without`` it, gives the text it began with.
    """

    @property
    def spark_version(self) -> str | None:
        """The Spark version that the file itself is for, ``None`` when it does not say."""

    @property
    def runs_on_this_machine(self) -> bool:
        """Whether a path in it is one of this machine's, not of a container image."""

    def get(self, key: str) -> str | None:
        """What Spark will see for ``key``, ``None`` when it is not set."""

    def items(self) -> dict[str, str]:
        """Every key that is set, with what Spark will see."""

    def remarks(self) -> tuple[str, ...]:
        """Sentences on what is legal in the file and seldom meant."""

    def with_value(self, key: str, value: str) -> TargetConf:
        """The same with ``key`` set.

        Raises:
            ConflictError: the place is written in a way that is not changed safely; the message says how to mend it.
        """

    def without(self, key: str) -> TargetConf:
        """The same with ``key`` not set.

        Raises:
            ConflictError: as for ``with_value``.
        """

    def render(self) -> bytes:
        """The whole file."""
