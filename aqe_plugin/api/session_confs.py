"""Confs of one session: set for a while, and recorded so that they can be rolled back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from aqe_plugin.api.tables import Shown, Table
from aqe_plugin.conf.changes import Change, merged
from aqe_plugin.errors import ConflictError


class SessionConf(Protocol):
    """``spark.conf``, of a classic session or of Spark Connect."""

    def get(self, key: str, default: str | None = ..., /) -> str | None: ...

    def set(self, key: str, value: str, /) -> None: ...

    def unset(self, key: str, /) -> None: ...


def put(conf: SessionConf, key: str, value: str | None) -> None:
    """Sets ``key``, or unsets it when ``value`` is ``None``."""
    if value is None:
        conf.unset(key)
    else:
        conf.set(key, value)


def set_for_a_while(conf: SessionConf, values: Mapping[str, str | None], why: str) -> ConfScope:
    """Sets ``values`` at once: all of them, or none when the session refuses one.

    Args:
        values: by full key, ``None`` to unset it; already validated.
        why: the reason, shown with the changes.
    """
    changes = tuple(Change(key, conf.get(key, None), value, why) for key, value in values.items())
    done: list[Change] = []
    try:
        for change in changes:
            put(conf, change.key, change.new)
            done.append(change)
    except BaseException:
        ConfScope(conf, tuple(done)).restore()
        raise
    return ConfScope(conf, changes)


class ConfScope(Shown):
    """Confs in force from now on; :meth:`restore`, or the end of a ``with`` block, restores the values before.

    Restore nested scopes in reverse order, as nested ``with`` blocks do. The confs are the session's: other threads in
    the same session see them too, ``spark.newSession()`` has its own.

    Attributes:
        changes: the old and the new value of every key; ``None`` is a key that is not set.
    """

    __slots__ = ("_conf", "_restored", "changes")

    def __init__(self, conf: SessionConf, changes: tuple[Change, ...]) -> None:
        self._conf = conf
        self._restored = False
        self.changes = changes

    def restore(self) -> None:
        """Restores every key; a second call does nothing."""
        if self._restored:
            return
        self._restored = True
        for change in reversed(self.changes):
            put(self._conf, change.key, change.old)

    def __enter__(self) -> ConfScope:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.restore()

    def _tables(self) -> tuple[Table, ...]:
        return (_table("restored" if self._restored else "in force", self.changes),)


@dataclass(frozen=True, slots=True, repr=False)
class ConfHistory(Shown):
    """Changes in the order in which they were made."""

    heading: str
    changes: tuple[Change, ...]

    def _tables(self) -> tuple[Table, ...]:
        return (_table(self.heading, self.changes),)


class JournaledConf:
    """A session's confs, with a record of what was set and unset through this object."""

    __slots__ = ("_changes", "_conf")

    def __init__(self, conf: SessionConf) -> None:
        self._conf = conf
        self._changes: list[Change] = []

    def get(self, key: str, default: str | None = None, /) -> str | None:
        return self._conf.get(key, default)

    def set(self, key: str, value: str, /) -> None:
        self._change(key, value, "set")

    def unset(self, key: str, /) -> None:
        self._change(key, None, "unset")

    def history(self) -> ConfHistory:
        """Everything so far."""
        return ConfHistory("Changed through this object", tuple(self._changes))

    def rollback(self, force: bool) -> ConfHistory:
        """Restores every key's value from before the first change; returns what that changed.

        Raises:
            ConflictError: somebody else changed one of the keys since, and ``force`` is not given; nothing is changed.
        """
        ours = merged(tuple(self._changes)).values()
        others = sorted(change.key for change in ours if self._conf.get(change.key, None) != change.new)
        if others and not force:
            raise ConflictError(
                f"{', '.join(others)}: changed since by somebody else in this session. "
                "Nothing was restored; rollback(force=True) restores these keys as well."
            )
        already = len(self._changes)
        for change in ours:
            if self._conf.get(change.key, None) != change.old:
                self._change(change.key, change.old, "rolled back")
        return ConfHistory("Rolled back", tuple(self._changes[already:]))

    def _change(self, key: str, value: str | None, why: str) -> None:
        old = self._conf.get(key, None)
        put(self._conf, key, value)
        self._changes.append(Change(key, old, value, why))


def _table(heading: str, changes: tuple[Change, ...]) -> Table:
    shown = [tuple("not set" if value is None else value for value in (one.old, one.new)) for one in changes]
    rows = tuple((one.key, old, new, one.why) for one, (old, new) in zip(changes, shown, strict=True))
    return Table(heading, ("key", "before", "now", "why"), rows)
