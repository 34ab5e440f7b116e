"""The settings file: where it is looked for, and what it holds."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqe_plugin.errors import ConfError, TargetError

# Two underscores: Kubernetes itself puts variables such as AQE_PLUGIN_EXPORTER_PORT into every pod.
PREFIX = "AQE_PLUGIN__"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"


def places(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where the settings file is looked for when none is named, best first."""
    home = environment.get("XDG_CONFIG_HOME") or (f"{environment['HOME']}/.config" if environment.get("HOME") else "")
    return tuple(Path(folder) / "aqe-plugin" / "config.toml" for folder in (home, "/etc") if folder)


def find_settings(given: Path | None, environment: Mapping[str, str]) -> Path | None:
    """The file to read: ``given``, else the first of :func:`places` that exists; no other is read."""
    return given or next((path for path in places(environment) if path.is_file()), None)


def read_settings(path: Path) -> dict[str, Any]:
    """The content of the settings file.

    Raises:
        TargetError: it cannot be read.
        ConfError: it is not TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        found: dict[str, Any] = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise TargetError(f"{path}: the settings file cannot be read ({error.strerror}).") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfError(f"{path}: not TOML: {error}.") from error
    return found
