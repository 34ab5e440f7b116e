"""What no journal, log or screen shows: credentials in addresses, and values of keys that are named as secrets."""

from __future__ import annotations

import re

HIDDEN = "(hidden)"
# From the slashes to the end of the address: a comma ends it if another entry of a list follows.
_ADDRESS = re.compile(r"""(:/+)((?:[^\s"'<>,]|,(?!/|[A-Za-z][A-Za-z0-9+.-]*:/))+)""")
# User and password, which may hold any character, or a user alone; what follows a host's colon is its port.
_USER = re.compile(r"\A(?:[^/?#,@:]*:(?!\d*(?:[/?#;,]|$)).*|[^/?#,]*)@")
# A presigned address has its signature in the query.
_QUERY_VALUE = re.compile(r"([?#&][^=?#&]*=)[^#&]+")
# As Spark's spark.redaction.regex, and the names that S3 and Azure use.
_SECRET_VALUE = re.compile(
    r"^(\s*[^\s=:]*(?:secret|password|token|access[.]?key|account[.]key|credential)[^\s=:]*\s*[\s=:]\s*)\S[\s\S]*",
    re.IGNORECASE,
)


def without_credentials(text: str) -> str:
    """``text`` with user, password and the values of the query of each address in it hidden.

    ``https://(hidden)@host/x.jar?signature=(hidden)``. In doubt more is hidden.
    """
    return _ADDRESS.sub(lambda found: found[1] + _without_query(_USER.sub(f"{HIDDEN}@", found[2], count=1)), text)


def without_secret_value(line: str) -> str:
    """A line of a conf, its value hidden if the key is named as a secret."""
    return _SECRET_VALUE.sub(rf"\1{HIDDEN}", line)


def _without_query(address: str) -> str:
    return _QUERY_VALUE.sub(rf"\1{HIDDEN}", address)
