"""The plugin's keys in a running session of a Spark Connect server.

No other key of the session is read or changed: the others are its owner's, and may be secret. A value holds for that
session alone and ends with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from aqe_plugin.conf.changes import changes_between
from aqe_plugin.conf.keys import CANARY, PLUGIN_CLASS, PLUGINS_KEY, PREFIX, entries_of
from aqe_plugin.conf.stores.map_conf import MapConf
from aqe_plugin.conf.stores.patience import Patience
from aqe_plugin.conf.stores.session_address import parse_session_address
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.conf.target import ConfStore, TargetConf
from aqe_plugin.errors import ConfError, ConflictError
from aqe_plugin.machine.disk import state_home

if TYPE_CHECKING:
    from aqe_plugin.conf.stores.connect_server import ConnectApi

# The driver reads these keys once, when it starts; docs/configuration.md says so for each.
_READ_AT_START = (CANARY, f"{PREFIX}decisions.")
# Dots too: a user named ".." would name the folder above.
_UNSAFE = re.compile(r"[^A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True)
class _SessionKeys(MapConf):
    """The plugin's keys that are set in a session; as text, a properties file."""

    def with_value(self, key: str, value: str) -> MapConf:
        if self.values.get(key) == value:
            return self
        if key.startswith(_READ_AT_START) or not key.startswith(PREFIX):
            raise ConfError(
                f"{key} is read when an application starts, and this session's application is running. "
                "Set it in the server's conf and restart the server."
            )
        return replace(self, values={**self.values, key: value})

    def render(self) -> bytes:
        conf = parse_properties(None, "session")
        for key in sorted(self.values):
            conf = conf.with_value(key, self.values[key])
        return conf.render()


@dataclass(frozen=True, slots=True)
class SessionStore(ConfStore):
    """A running session.

    Attributes:
        state: the folder on this machine that holds the journals.
    """

    api: ConnectApi
    state: Path

    @property
    def name(self) -> str:
        return self.api.address.name

    @property
    def effect(self) -> str:
        return f"{self.name}: queries that this session plans from now on use it, until the session ends."

    @property
    def journal_folder(self) -> Path:
        address = self.api.address
        server, user = (_UNSAFE.sub("_", part) or "_" for part in (address.server, address.user_id))
        return self.state / "aqe-plugin" / "connect" / server / user / address.session_id

    def read(self) -> bytes | None:
        return _SessionKeys(self.api.values_below(PREFIX)).render()

    def parse(self, content: bytes | None) -> TargetConf:
        return _SessionKeys(parse_properties(content, self.name).items())

    def rehearse(self, before: bytes | None, after: bytes | None) -> str:
        return "It would hold for this session alone, until it ends."

    def replace(
        self, before: bytes | None, after: bytes | None, takes_back: bool = False, mode: int | None = None
    ) -> None:
        """As in :class:`ConfStore`, except that a change takes up to two calls.

        When the server stops answering between them, half of the change is made, and ``status`` shows which.
        """
        present = self.read()
        if present == after:
            return
        old, new = self.parse(present).items(), self.parse(after).items()
        if present != before:
            keys = ", ".join(change.key for change in changes_between(self.parse(before).items(), old, ""))
            raise ConflictError(
                f"{self.name}: somebody else changed it in the meantime ({keys}); nothing was written. "
                "Look at it and try again."
            )
        changed = {key: value for key, value in new.items() if old.get(key) != value}
        self.api.change(changed, [key for key in old if key not in new])

    def why_not_loaded(self) -> str | None:
        if self.api.resolves("SELECT * FROM aqe_metrics()"):
            return ""
        if PLUGIN_CLASS in entries_of(self.api.value(PLUGINS_KEY)):
            return (
                f"{self.name}: {PLUGINS_KEY} names the plugin, but its SQL functions are missing: it stood down "
                "when the server started. The log of the server's driver says why, in a line with aqe-plugin."
            )
        return (
            f"{self.name}: the plugin is not loaded in this server, and cannot be while it runs: {PLUGINS_KEY} is read "
            "when an application starts. Install it into the server's conf, on its machine "
            "(aqe-plugin install --spark-home FOLDER --yes), and restart the server."
        )


def open_session(
    text: str, environment: Mapping[str, str], say: Callable[[str], None], patience: Patience | None = None
) -> SessionStore:
    """The session that ``text`` names. It is never started; once it has ended, only its journal can be read.

    Args:
        say: receives a sentence before each wait for the server.
    """
    address = parse_session_address(text, environment)
    # This import takes longer than all others together.
    from aqe_plugin.conf.stores.connect_server import connect

    return SessionStore(connect(address, patience or Patience(), say), state_home(environment))
