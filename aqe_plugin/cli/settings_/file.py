"""The file that settings are read from: which it is, what it holds, and on which line."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from aqe_plugin.errors import ConfError, TargetError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["CONFIG_VARIABLE", "SettingsFile", "find_file", "parse_settings", "places", "read_file", "toml_value"]

CONFIG_VARIABLE = "AQE_PLUGIN__CONFIG"
_TABLE = re.compile(r"\s*\[\s*(?P<name>[^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY = re.compile(r"\s*(?P<name>[^=#\[]+?)\s*=")


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file as it was read; ``values`` is what TOML makes of its ``text``."""

    path: Path
    text: str
    values: Mapping[str, Any]

    def place(self, *keys: str) -> str:
        """Where a key stands, as far as that can be told: the file, and its line."""
        line = self._line_of(".".join(keys))
        return f"{self.path}, line {line}" if line else str(self.path)

    def _line_of(self, wanted: str) -> int | None:
        table = ""
        for number, line in enumerate(self.text.splitlines(), start=1):
            if header := _TABLE.fullmatch(line):
                table = _plain(header["name"]) + "."
                if table == wanted + ".":
                    return number
            elif (key := _KEY.match(line)) and table + _plain(key["name"]) == wanted:
                return number
        return None


def places(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where a settings file is looked for when none is named; the first that is there is read, and no other."""
    home = environment.get("XDG_CONFIG_HOME") or (f"{environment['HOME']}/.config" if environment.get("HOME") else "")
    folders = (home, "/etc") if home else ("/etc",)
    return tuple(Path(folder) / "aqe-plugin" / "config.toml" for folder in folders)


def find_file(given: Path | None, environment: Mapping[str, str]) -> Path | None:
    """The file to read: the one given, else the one that the environment names, else the first of :func:`places`."""
    if given is not None:
        return given
    if environment.get(CONFIG_VARIABLE):
        return Path(environment[CONFIG_VARIABLE])
    return next((path for path in places(environment) if path.is_file()), None)


def read_file(path: Path) -> SettingsFile:
    """What ``path`` holds.

    Raises:
        TargetError: it is not there, or cannot be read.
        ConfError: it is no TOML.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise TargetError(f"{path}: the settings file cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise ConfError(f"{path}: byte {error.start} is no UTF-8, in which TOML is written.") from error
    return parse_settings(path, text)


def parse_settings(path: Path, text: str) -> SettingsFile:
    """What ``text`` says when it stands in ``path``.

    Raises:
        ConfError: it is no TOML.
    """
    try:
        return SettingsFile(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfError(f"{path}: not TOML: {error}.") from error


def toml_value(value: object) -> str:
    """``value`` as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Enum):
        return toml_value(value.value)
    if isinstance(value, int | float):
        return repr(value)
    # JSON's strings are TOML's, but that TOML has no character 7F as it is.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))
