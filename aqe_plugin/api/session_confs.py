"""Conf keys of one session that are set together and taken back together."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol

from aqe_plugin.api.tables import Table, html_of, text_of
from aqe_plugin.conf.changes import Change

__all__ = ["ConfScope", "SessionConf", "put", "set_for_a_while", "table_of"]


class SessionConf(Protocol):
    """``spark.conf``, of a classic session or of Spark Connect."""

    def get(self, key: str, default: str | None = ..., /) -> str | None: ...

    def set(self, key: str, value: str, /) -> None: ...

    def unset(self, key: str, /) -> None: ...


def set_for_a_while(conf: SessionConf, values: Mapping[str, str | None], why: str) -> ConfScope:
    """Sets ``values`` at once; all of them, or none when the session refuses one.

    Args:
        values: by full key, ``None`` to unset it; they have been checked.
        why: what for, to be shown with the changes.
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


class ConfScope:
    """What was set, in force from now on; :meth:`restore`, or the end of a ``with`` block, puts back what was before.

    Scopes are undone in the reverse order of their making, which nested ``with`` blocks do by themselves. The confs are
    the session's: other threads that use the same session see them too, ``spark.newSession()`` has its own.

    Attributes:
        changes: key, value before, value now and why, for every key; ``None`` is a key that was not set.
    """

    __slots__ = ("_conf", "_restored", "changes")

    def __init__(self, conf: SessionConf, changes: tuple[Change, ...]) -> None:
        self._conf = conf
        self._restored = False
        self.changes = changes

    def restore(self) -> None:
        """Puts every key back as it was before; does nothing the second time."""
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

    def __repr__(self) -> str:
        return text_of(self._table())

    def _repr_html_(self) -> str:
        return html_of(self._table())

    def _table(self) -> Table:
        return table_of("taken back" if self._restored else "in force", self.changes)


def table_of(heading: str, changes: tuple[Change, ...]) -> Table:
    """The changes to look at."""
    rows = tuple((change.key, _shown(change.old), _shown(change.new), change.why) for change in changes)
    return Table(heading, ("key", "before", "now", "why"), rows)


def put(conf: SessionConf, key: str, value: str | None) -> None:
    """Sets ``key``, or unsets it when ``value`` is ``None``."""
    if value is None:
        conf.unset(key)
    else:
        conf.set(key, value)


def _shown(value: str | None) -> str:
    return "not set" if value is None else value
