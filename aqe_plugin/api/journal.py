"""What was changed in a session's confs through one object, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

from aqe_plugin.api.session_confs import SessionConf, put, table_of
from aqe_plugin.api.tables import html_of, text_of
from aqe_plugin.conf.changes import Change, merged
from aqe_plugin.errors import ConflictError

__all__ = ["History", "JournaledConf"]


@dataclass(frozen=True, slots=True)
class History:
    """Changes in the order in which they were made; a table in a terminal and in a notebook."""

    heading: str
    changes: tuple[Change, ...]

    def __repr__(self) -> str:
        return text_of(table_of(self.heading, self.changes))

    def _repr_html_(self) -> str:
        return html_of(table_of(self.heading, self.changes))


class JournaledConf:
    """A session's confs, with a list of what was set and unset through it."""

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

    def history(self) -> History:
        """Everything so far."""
        return History("Changed through this object", tuple(self._changes))

    def rollback(self, force: bool) -> History:
        """Puts every key back to what it was before the first change, and gives back what that changed.

        Raises:
            ConflictError: somebody else has changed one of them since, and ``force`` is not given; nothing is changed.
        """
        ours = merged(tuple(self._changes)).values()
        others = sorted(one.key for one in ours if self._conf.get(one.key, None) != one.new)
        if others and not force:
            raise ConflictError(
                f"{', '.join(others)}: changed since by somebody else in this session. "
                "Nothing was put back; rollback(force=True) puts these back as well."
            )
        already = len(self._changes)
        for one in ours:
            if self._conf.get(one.key, None) != one.old:
                self._change(one.key, one.old, "rolled back")
        return History("Rolled back", tuple(self._changes[already:]))

    def _change(self, key: str, value: str | None, why: str) -> None:
        old = self._conf.get(key, None)
        put(self._conf, key, value)
        self._changes.append(Change(key, old, value, why))
