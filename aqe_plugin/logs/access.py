"""How a History Server is asked: with which rights, and how often for the log of an application that runs."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aqe_plugin.errors import ConfError

__all__ = ["RUNNING_EVERY_SECONDS", "Access", "access"]

RUNNING_EVERY_SECONDS = 60.0
_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Access:
    """What goes with each request, and the least time between two that fetch the log of one running application.

    Attributes:
        authorization: the header's value, empty for none.
    """

    authorization: str = field(default="", repr=False)
    running_every_seconds: float = RUNNING_EVERY_SECONDS


def access(url: str, user: str | None, password: str | None, token: str | None, running_every_seconds: float) -> Access:
    """Basic authentication with ``user`` and ``password`` (RFC 7617), or a bearer ``token`` (RFC 6750), or neither.

    Raises:
        ConfError: they do not go together, cannot be sent, or ``url`` is none; no password and no token is in its
            message.
    """
    if "@" in url.partition("//")[2].partition("/")[0]:
        raise ConfError(
            "The History Server's address holds a user: take it out, and set history-user and history-password instead."
        )
    try:
        address = urlsplit(url)
        # A port is looked at when it is read, and not before.
        names_server = bool(address.hostname) and address.port != 0
    except ValueError:
        names_server = False
    if not names_server:
        raise ConfError(f"{url}: not the address of a server. Write it as http://HOST:18080.")
    if token is not None:
        if user is not None or password is not None:
            raise ConfError("history-token is set, and so is a user or a password: one kind of them is sent.")
        if not _TOKEN.fullmatch(token):
            raise ConfError("history-token is not allowed: expected printable ASCII without spaces.")
        return Access(f"Bearer {token}", running_every_seconds)
    if (user is None) != (password is None):
        missing = "history-user" if user is None else "history-password"
        raise ConfError(f"{missing} is not set: a user and a password go together.")
    if user is None or password is None:
        return Access("", running_every_seconds)
    if ":" in user:
        raise ConfError(f"--history-user {user}: a user with a colon cannot be sent.")
    packed = base64.b64encode(f"{user}:{password}".encode()).decode()
    return Access(f"Basic {packed}", running_every_seconds)
