"""Where on this machine is written down what was done to places that are on none of its disks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aqe_plugin.errors import WriteError
from aqe_plugin.machine.disk import make_folder

__all__ = ["make_state_folder", "state_home"]


def state_home(environment: Mapping[str, str]) -> Path:
    """The folder that journals are kept below."""
    given = environment.get("XDG_STATE_HOME")
    return Path(given) if given else Path("~/.local/state").expanduser()


def make_state_folder(folder: Path) -> None:
    """Makes ``folder``, and those it is in, when it is not there.

    Raises:
        WriteError: it could not be done.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"{folder.parent}: the journal's folder cannot be made ({error.strerror}). "
            "Set XDG_STATE_HOME to a folder that may be written."
        ) from error
    make_folder(folder, 0o755)
