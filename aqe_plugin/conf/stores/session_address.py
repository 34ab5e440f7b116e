"""The address of a running session of a Spark Connect server.

It is a connection string of Spark's own clients (docs/client-connection-string.md in Spark's sources) with the
session's id among its parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote
from uuid import UUID

from aqe_plugin.conf.credentials import HIDDEN
from aqe_plugin.errors import ConfError

# With one slash, because an address that was parsed as a path has lost the second.
SCHEME = "sc:/"
_DEFAULT_PORT = 15002
# A slash in a value is written %2F; Spark's clients would read it as the start of a path.
_HOST = r"(?P<host>[\w.-]+|\[[0-9A-Fa-f:.]+\])"
_ADDRESS = re.compile(rf"sc:/+{_HOST}(:(?P<port>\d{{1,5}}))?(/(;(?P<parameters>[^/?#\s]*))?)?")
_SHOWN = ("session_id", "use_ssl", "user_id")
_SECRET = re.compile(r"(;(?!(?:session_id|use_ssl|user_id)=)[^;=]*=)[^;]*")
_EXPECTED = "sc://HOST[:PORT]/;session_id=UUID[;user_id=USER][;use_ssl=true][;token=TOKEN]"


@dataclass(frozen=True, slots=True)
class SessionAddress:
    """One session.

    Attributes:
        server: host and port.
        user_id: the owner; sessions of different owners may share an id.
        session_id: a UUID.
        connection: the whole connection string, secrets included; never to be shown.
    """

    server: str
    user_id: str
    session_id: str
    use_ssl: bool
    connection: str = field(repr=False)

    @property
    def name(self) -> str:
        """The address without its secrets; it names the same session."""
        ssl = ";use_ssl=true" if self.use_ssl else ""
        user = f";user_id={quote(self.user_id, safe='')}" if self.user_id else ""
        return f"sc://{self.server}/{user};session_id={self.session_id}{ssl}"


def parse_session_address(text: str, environment: Mapping[str, str]) -> SessionAddress:
    """The address in ``text``.

    Args:
        environment: names the user when ``text`` does not, as for Spark's own clients.

    Raises:
        ConfError: it is not an address; the message shows none of its secrets.
    """
    match = _ADDRESS.fullmatch(text)
    pairs = [part.split("=") for part in ((match["parameters"] if match else "") or "").split(";") if part]
    if match is None or not all(len(pair) == 2 and all(pair) for pair in pairs):
        raise ConfError(f"sc://…: expected {_EXPECTED}; in values write %XX for all but letters, digits, - . _ and ~.")
    server = f"{match['host']}:{match['port'] or _DEFAULT_PORT}"
    given = {name: unquote(value) for name, value in pairs}
    user = given.get("user_id") or environment.get("SPARK_USER") or environment.get("USER") or ""
    if "session_id" not in given:
        raise ConfError(
            f"sc://{server}: without a session_id this is a new session, and its confs end with this command. "
            "Name the running session, by its spark.session_id: "
            f"sc://{server}/;user_id={quote(user or 'USER', safe='')};session_id=UUID."
        )
    use_ssl = given.get("use_ssl", "false").lower()
    if use_ssl not in ("true", "false"):
        raise ConfError(f"sc://{server}: use_ssl = {given['use_ssl']} is not allowed: expected true or false.")
    secret = "".join(f";{name}={quote(value, safe='')}" for name, value in given.items() if name not in _SHOWN)
    address = SessionAddress(server, user, _uuid(given["session_id"], server), use_ssl == "true", "")
    return SessionAddress(server, user, address.session_id, address.use_ssl, address.name + secret)


def without_secrets(text: str) -> str:
    """``text`` with the secrets of a session's address hidden; any other text unchanged."""
    return _SECRET.sub(rf"\1{HIDDEN}", text) if text.startswith(SCHEME) else text


def _uuid(text: str, server: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise ConfError(
            f"sc://{server}: session_id = {text} is not allowed: expected a UUID, the session's spark.session_id."
        ) from None
