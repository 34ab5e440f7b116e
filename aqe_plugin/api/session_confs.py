"""Confs of one session, set for a while."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from aqe_plugin.api.tables import Shown, Table
from aqe_plugin.conf.changes import Change


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

    __slots__ = ("_conf", "_left", "changes")

    def __init__(self, conf: SessionConf, changes: tuple[Change, ...]) -> None:
        self._conf = conf
        self._left = list(changes)
        self.changes = changes

    def restore(self) -> None:
        """Restores every key; a second call restores those that the session refused, and else does nothing."""
        refusals: list[Exception] = []
        for change in self._left[::-1]:
            try:
                put(self._conf, change.key, change.old)
            except Exception as error:  # noqa: BLE001 - the other keys are restored whatever happens to one
                refusals.append(error)
            else:
                self._left.remove(change)
        if refusals:
            raise refusals[0]

    def __enter__(self) -> ConfScope:
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def _tables(self) -> tuple[Table, ...]:
        shown = [tuple("not set" if value is None else value for value in (one.old, one.new)) for one in self.changes]
        rows = tuple((one.key, old, new, one.why) for one, (old, new) in zip(self.changes, shown, strict=True))
        return (Table("in force" if self._left else "restored", ("key", "before", "now", "why"), rows),)
