"""A session's confs without a session."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Confs"]


class Confs:
    """A session's confs in memory; refuses one key if told to."""

    def __init__(self, values: Mapping[str, str] | None = None, refused: str | None = None) -> None:
        self.values = dict(values or {})
        self._refused = refused

    def get(self, key: str, default: str | None = "", /) -> str | None:
        return self.values.get(key, default)

    def set(self, key: str, value: str, /) -> None:
        if key == self._refused:
            raise OSError("connection lost")
        self.values[key] = value

    def unset(self, key: str, /) -> None:
        self.values.pop(key, None)
