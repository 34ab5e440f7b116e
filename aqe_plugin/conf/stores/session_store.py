"""The plugin's keys in a running session of a Spark Connect server.

Nothing else of the session is looked at or changed: what its owner sets is the owner's, and may be secret. What is set
holds for that session alone, and ends with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aqe_plugin.conf.changes import changes_between
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.conf.stores.patience import Patience
from aqe_plugin.conf.stores.port import TargetConf
from aqe_plugin.conf.stores.session_address import parse_session_address
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.errors import ConfError, ConflictError
from aqe_plugin.machine.state import make_state_folder, state_home

if TYPE_CHECKING:
    from aqe_plugin.conf.stores.connect_server import ConnectApi

__all__ = ["SessionConf", "SessionStore", "open_session"]

# The driver reads them once, when it starts; docs/configuration.md says it of each.
_READ_AT_START = (f"{PREFIX}canary.", f"{PREFIX}decisions.")
_PLUGINS = "spark.plugins"
_PLUGIN_CLASS = "io.aqeplugin.AqePlugin"
_METRICS = "SELECT * FROM aqe_metrics()"
# A dot too: a user may be called by two of them, which name the folder above.
_UNSAFE = re.compile(r"[^A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True)
class SessionConf:
    """The plugin's keys that are set in a session; see :class:`~aqe_plugin.conf.stores.port.TargetConf`."""

    values: Mapping[str, str]
    name: str

    @property
    def spark_version(self) -> str | None:
        return None

    @property
    def runs_on_this_machine(self) -> bool:
        return False

    def get(self, key: str) -> str | None:
        return self.values.get(key)

    def items(self) -> dict[str, str]:
        return dict(self.values)

    def remarks(self) -> tuple[str, ...]:
        return ()

    def with_value(self, key: str, value: str) -> SessionConf:
        if self.values.get(key) == value:
            return self
        if key.startswith(_READ_AT_START) or not key.startswith(PREFIX):
            raise ConfError(
                f"{self.name}: {key} is read when an application starts, and this one runs. "
                "Set it in the conf of the server, and start that anew."
            )
        return SessionConf({**self.values, key: value}, self.name)

    def without(self, key: str) -> SessionConf:
        return SessionConf({name: value for name, value in self.values.items() if name != key}, self.name)

    def render(self) -> bytes:
        conf = parse_properties(b"", self.name)
        for key in sorted(self.values):
            conf = conf.with_value(key, self.values[key])
        return conf.render()


@dataclass(frozen=True, slots=True)
class SessionStore:
    """A running session; see :class:`~aqe_plugin.conf.stores.port.ConfStore`.

    Attributes:
        state: the folder on this machine that journals are kept below.
    """

    api: ConnectApi
    state: Path

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return self.api.address.name

    @property
    def effect(self) -> str:
        return f"{self.name}: queries of this session that are planned from now on go by it, until the session ends."

    @property
    def journal_folder(self) -> Path:
        address = self.api.address
        server, user = (_UNSAFE.sub("_", part) or "_" for part in (address.server, address.user_id))
        return self.state / "aqe-plugin" / "connect" / server / user / address.session_id

    def make_journal_folder(self) -> None:
        make_state_folder(self.journal_folder)

    def read(self) -> bytes | None:
        return SessionConf(self.api.values_below(PREFIX), self.name).render()

    def parse(self, content: bytes | None) -> TargetConf:
        return SessionConf(parse_properties(content or b"", self.name).items(), self.name)

    def rehearse(self, before: bytes | None, after: bytes | None) -> str:
        return "It would hold for this session alone, until it ends."

    def replace(self, before: bytes | None, after: bytes | None) -> None:
        """As of the port; when the server falls silent between the two calls that a change may take, it is half done,
        and the next command shows what is set.
        """
        present = self.read()
        old, new = self.parse(present).items(), self.parse(after).items()
        if present == after:
            return
        if present != before:
            keys = ", ".join(change.key for change in changes_between(self.parse(before).items(), old, ""))
            raise ConflictError(
                f"{self.name}: somebody else changed it meanwhile ({keys}), and nothing was written. "
                "Look at it and try again."
            )
        changed = {key: value for key, value in new.items() if old.get(key) != value}
        self.api.change(changed, [key for key in old if key not in new])

    def leftovers(self) -> list[Path]:
        return []

    def why_not_loaded(self) -> str | None:
        if self.api.resolves(_METRICS):
            return ""
        listed = _PLUGIN_CLASS in [entry.strip() for entry in (self.api.value(_PLUGINS) or "").split(",")]
        if listed:
            return (
                f"{self.name}: {_PLUGINS} names the plugin, and its SQL functions are not there: it stood down "
                "when the server started. The log of the server's driver says why, in a line with aqe-plugin."
            )
        return (
            f"{self.name}: the plugin is not loaded in this server, and cannot be while it runs: {_PLUGINS} is read "
            "when an application starts. Install it into the conf that the server reads, on its machine "
            "(aqe-plugin install --spark-home FOLDER --yes), and start the server anew."
        )


def open_session(
    text: str, environment: Mapping[str, str], say: Callable[[str], None], patience: Patience | None = None
) -> SessionStore:
    """The session that ``text`` names; of one that has ended the journal alone can be read, and none is ever begun.

    Args:
        say: is told, in a sentence, when the server is waited for.

    Raises:
        ConfError: it names none.
        ExtraMissingError: Spark's client for it is not installed.
    """
    address = parse_session_address(text, environment)
    # Spark's client takes longer to import than all others together.
    from aqe_plugin.conf.stores.connect_server import connect

    return SessionStore(connect(address, patience or Patience(), say), state_home(environment))
