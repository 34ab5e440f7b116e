"""What can be installed into: a Spark conf, and the store that keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from aqe_plugin.errors import ConfError
from aqe_plugin.machine.disk import lock, make_state_folder


class TargetConf(Protocol):
    """A Spark conf as an immutable value, in whatever syntax it is written.

    A change leaves every other byte as it was: ``with_value`` of an absent key, and then ``without`` it, gives the
    text it began with. Both raise :class:`~aqe_plugin.errors.ConflictError`, with how to fix it, when the text cannot
    be changed safely.
    """

    __slots__ = ()

    @property
    def spark_version(self) -> str | None:
        """The Spark version that the text itself names, if any."""
        return None

    @property
    def runs_on_this_machine(self) -> bool:
        """Whether paths in it are paths of this machine, not of a container image."""
        return False

    @property
    def not_read_by(self) -> str:
        """A sentence: which drivers do not read it, and what to do for those; empty where there are none."""
        return ""

    @property
    def jars_elsewhere(self) -> str:
        """Which jars beside the conf do not go together with ``spark.jars``, and what to move; empty for none."""
        return ""

    def items(self) -> dict[str, str]:
        """Every key that is set, with the value that Spark will see."""

    def get(self, key: str) -> str | None:
        return self.items().get(key)

    def remarks(self) -> tuple[str, ...]:
        """Sentences on what is legal in the text and seldom intended."""
        return ()

    def with_value(self, key: str, value: str) -> TargetConf: ...

    def without(self, key: str) -> TargetConf: ...

    def render(self) -> bytes: ...


class ConfStore(Protocol):
    """A place that keeps a conf: a file or an object on an API server.

    It is read whole and replaced whole: what ``read`` returned can be given to ``replace`` later, byte for byte. Every
    method but the properties raises :class:`~aqe_plugin.errors.InputError` when the place cannot be reached or read.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The target as the user writes it."""

    @property
    def mode(self) -> int | None:
        """The permissions of the content's file, ``None`` when there is none."""
        return None

    @property
    def effect(self) -> str:
        """A sentence: when a change takes effect."""

    @property
    def note_when_new(self) -> str:
        """What to know before a change creates the place; nothing where a change does not."""
        return ""

    @property
    def journal_folder(self) -> Path:
        """The folder on this machine that holds the journal and the backups."""

    @property
    def keeps_texts(self) -> bool:
        """Whether earlier texts are kept beside the journal; where not, a change is taken back key by key."""
        return True

    @property
    def changed_by(self) -> Mapping[str, str]:
        """When, by whom of those who changed by aqe-plugin what the place holds, if the place notes that."""
        return {}

    def noted_as(self, who: str) -> str:
        """The name in :attr:`changed_by` of whoever changes the place as ``who``."""
        return who

    def make_journal_folder(self) -> None:
        make_state_folder(self.journal_folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the target for one process of this machine at a time.

        Raises:
            ConflictError: another process holds it.
        """
        self.make_journal_folder()
        with lock(self.journal_folder / "lock"):
            yield

    def read(self) -> bytes | None:
        """The content, ``None`` when there is none."""

    def parse(self, content: bytes | None) -> TargetConf:
        """``content`` as a conf of this store.

        Raises:
            TargetError: it is not the conf that the target's name promises.
            ConflictError: it is written in a way that cannot be changed.
        """

    def rehearse(self, before: bytes | None, after: bytes | None) -> str:
        """Tries ``replace`` without doing it, where a server allows that; returns a sentence for the user, or nothing.

        Raises the errors of ``replace``.
        """
        return ""

    def replace(self, before: bytes | None, after: bytes | None, who: str, mode: int | None = None) -> None:
        """Replaces the content; a reader sees the old or the new, whole.

        Args:
            who: makes the change.
            mode: of a file that is created, if it was there before; see :attr:`mode`.

        Raises:
            ConflictError: the content is no longer ``before``, as far as that can be known; nothing was written.
            WriteError: it could not be written, and the content is as it was.
            InputError: the server does not answer, so whether it was written is unknown.
        """

    @property
    def keeper(self) -> str:
        """What keeps the content as a repository says, and may undo a change: ``Argo CD``; empty when nothing does."""
        return ""

    def patch(self, before: bytes | None, after: bytes | None) -> str:
        """The change from ``before`` to ``after`` for whoever deploys by a repository.

        Raises:
            ConfError: a change of this place is no patch.
        """
        raise ConfError(
            f"{self.name}: --format patch is for an object on an API server (kubernetes:...); the table shows what "
            "changes in a file."
        )

    def leftovers(self) -> list[Path]:
        """Temporary files of writers that were killed."""
        return []
