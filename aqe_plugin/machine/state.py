"""The folder for journals of targets that are not files on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aqe_plugin.errors import WriteError
from aqe_plugin.machine.disk import make_folder


def state_home(environment: Mapping[str, str]) -> Path:
    """The folder above the journals' folders."""
    given = environment.get("XDG_STATE_HOME")
    return Path(given) if given else Path("~/.local/state").expanduser()


def make_state_folder(folder: Path) -> None:
    """Creates ``folder`` and its parents.

    Raises:
        WriteError: it failed.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"{folder.parent}: the folder of the journal cannot be created ({error.strerror}). "
            "Set XDG_STATE_HOME to a writable folder."
        ) from error
    make_folder(folder, 0o755)
