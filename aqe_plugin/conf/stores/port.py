"""What a conf must be able to do to be installed into, and what must be able to be done to the place it is kept in."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

__all__ = ["ConfStore", "TargetConf"]


class TargetConf(Protocol):
    """The Spark conf that a file or an object holds, as a value: a change makes a new one and leaves every other byte
    as it was.

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
            ConfError: the place is a running session, and ``key`` is read when an application starts.
        """

    def without(self, key: str) -> TargetConf:
        """The same with ``key`` not set.

        Raises:
            ConflictError: as for ``with_value``.
        """

    def render(self) -> bytes:
        """The whole file."""


class ConfStore(Protocol):
    """The place that a conf is kept in, a file, an object on an API server or a running session: read whole and
    replaced whole.

    What ``read`` gives can be given to ``replace`` later, and is then there again, byte for byte.
    """

    @property
    def name(self) -> str:
        """What to call it, to a person."""

    @property
    def effect(self) -> str:
        """What a change of it does to applications, to a person who just made one."""

    @property
    def journal_folder(self) -> Path:
        """Where on this machine is written down what was done to it."""

    def make_journal_folder(self) -> None:
        """Makes that folder when it is not there.

        Raises:
            WriteError: it could not be done.
        """

    def read(self) -> bytes | None:
        """What it holds, ``None`` when it holds nothing.

        Raises:
            InputError: it cannot be read.
        """

    def parse(self, content: bytes | None) -> TargetConf:
        """What ``content`` says when it stands there.

        Raises:
            TargetError: it is not what it was taken for.
            ConflictError: it is written in a way that cannot be changed.
        """

    def rehearse(self, before: bytes | None, after: bytes | None) -> str:
        """Asks whether ``replace`` would be let; gives back what there is to say about that, a sentence or nothing.

        Raises:
            AqePluginError: as ``replace``.
        """

    def replace(self, before: bytes | None, after: bytes | None) -> None:
        """Makes it hold ``after``; whoever reads it meanwhile sees old or new, whole.

        Raises:
            ConflictError: it holds something else than ``before``, as far as that can be told; nothing was written.
            WriteError: it could not be written, and holds what it held.
            InputError: nobody answers, so nobody knows whether it was written.
        """

    def leftovers(self) -> list[Path]:
        """Files that writers of it left that were killed."""

    def why_not_loaded(self) -> str | None:
        """Of a running application: why the plugin is not loaded in it and what to do, empty when it is loaded.

        ``None`` for a conf that applications read when they start, of which that cannot be said.

        Raises:
            InputError: the application cannot be asked.
        """
