"""Authentication at a History Server, and whether and how often to fetch the logs of running applications."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aqe_plugin.errors import ConfError

_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Access:
    """What a History Server is asked for, and how.

    Attributes:
        authorization: the header; empty for none.
        running_every_seconds: the least time between two fetches of the log of a running application; ``None`` for
            finished applications only.
    """

    authorization: str = field(default="", repr=False)
    running_every_seconds: float | None = None


def access(
    url: str, user: str | None, password: str | None, token: str | None, running_every_seconds: float | None
) -> Access:
    """Basic authentication with ``user`` and ``password`` (RFC 7617), or a bearer ``token`` (RFC 6750), or neither.

    Raises:
        ConfError: they exclude each other, cannot be sent, or ``url`` is not a server's address; the message shows no
            password and no token.
    """
    if "@" in url.partition("//")[2].partition("/")[0]:
        raise ConfError(
            "The History Server's address contains a user: remove it, and set history-user and history-password."
        )
    try:
        address = urlsplit(url)
        # Reading the port checks it.
        names_server = bool(address.hostname) and address.port != 0
    except ValueError:
        names_server = False
    if not names_server:
        raise ConfError(f"{url}: not the address of a server. Write it as http://HOST:18080.")
    if token is not None:
        if user is not None or password is not None:
            raise ConfError("Set history-token, or history-user and history-password, not both.")
        if not _TOKEN.fullmatch(token):
            raise ConfError("history-token is invalid: expected printable ASCII without spaces.")
        return Access(f"Bearer {token}", running_every_seconds)
    if (user is None) != (password is None):
        missing = "history-user" if user is None else "history-password"
        raise ConfError(f"{missing} is not set: a user needs a password, and a password a user.")
    if user is None or password is None:
        return Access("", running_every_seconds)
    if ":" in user:
        raise ConfError(f"--history-user {user}: basic authentication allows no colon in a user.")
    packed = base64.b64encode(f"{user}:{password}".encode()).decode()
    return Access(f"Basic {packed}", running_every_seconds)
