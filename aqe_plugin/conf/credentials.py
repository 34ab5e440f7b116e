"""What no journal, log or screen shows: credentials in addresses, and values of keys that are named as secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = "(hidden)"
# From the slashes to the end of the address: a comma ends it if another entry of a list follows.
_ADDRESS = re.compile(r"""(:/+)((?:[^\s"'<>,]|,(?!/|[A-Za-z][A-Za-z0-9+.-]*:/))+)""")
# A password may hold blanks too: those before the next @, if no slash comes first. After a port none follows.
_USER_WITH_BLANKS = re.compile(r"""(:/+)[^\s/?#@:"'<>,]*:(?!\d*[\s/?#;,])[^\s/@"'<>]+[ \t][^\n/@:"'<>]*@""")
# User and password, which may hold any character, or a user alone; what follows a host's colon is its port.
_USER = re.compile(r"\A(?:[^/?#,@:]*:(?!\d*(?:[/?#;,]|$)).*|[^/?#,]*)@")
# A presigned address has its signature in the query.
_QUERY_VALUE = re.compile(r"([?#&][^=?#&]*=)[^#&]+")
# As Spark's spark.redaction.regex, and the names that S3 and Azure use.
_SENSITIVE = "(?:secret|password|token|access[.]?key|account[.]key|credential)"
# Limits of 200, so that a long text costs no more than its length.
_PATH_VALUE = re.compile(
    rf"(;(?:sig|signature|[^=;?#&]{{0,200}}{_SENSITIVE}[^=;?#&]{{0,200}})=)[^;?#&]+", re.IGNORECASE
)
_SYSTEM_PROPERTY = re.compile(
    rf"""(-D[^\s=]{{0,200}}{_SENSITIVE}[^\s=]{{0,200}}=)(?:"[^"\n]*"|'[^'\n]*'|\S+?(?=["']?,?(?:\s|$)))""",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(rf"^(\s*[^\s=:]*{_SENSITIVE}[^\s=:]*\s*[\s=:]\s*)\S[\s\S]*", re.IGNORECASE)
_KEY = re.compile(r"\s*[^\s=:]*")
_GOES_ON = re.compile(r"(?<!\\)\\(?:\\\\)*\s*\Z")


def without_credentials(text: str) -> str:
    """``text`` with user, password and the values of the query of each address in it hidden, and Java's system
    properties that are named as a secret.

    ``https://(hidden)@host/x.jar?signature=(hidden)``. In doubt more is hidden.
    """
    text = _SYSTEM_PROPERTY.sub(rf"\1{HIDDEN}", _USER_WITH_BLANKS.sub(rf"\1{HIDDEN}@", text))
    return _ADDRESS.sub(lambda found: found[1] + _without_values(_USER.sub(f"{HIDDEN}@", found[2], count=1)), text)


def without_secret_value(line: str) -> str:
    """A line of a conf, its value hidden if the key is named as a secret."""
    return _SECRET_VALUE.sub(rf"\1{HIDDEN}", line)


def value_without_secrets(key: str, value: str) -> str:
    """A value of a conf without credentials; all of it is hidden if its key is named as a secret."""
    return HIDDEN if _SECRET_VALUE.match(f"{key} =x") else without_credentials(value)


def conf_without_secrets(lines: Sequence[str]) -> list[str]:
    """The lines of a conf without credentials and values of keys that are named as secrets.

    Of an entry that goes on in the next line (a backslash ends the line) all is hidden but the key, if any of it is.
    """
    shown: list[str] = []
    entry: list[str] = []
    for number, line in enumerate(lines, start=1):
        entry.append(line)
        is_comment = len(entry) == 1 and line.lstrip()[:1] in ("#", "!")
        if number < len(lines) and not is_comment and _GOES_ON.search(line):
            continue
        shown += _entry_without_secrets(entry)
        entry = []
    return shown


def _entry_without_secrets(lines: Sequence[str]) -> list[str]:
    if len(lines) == 1:
        return [_line_without_secrets(lines[0])]
    whole = "".join(_GOES_ON.sub("", line) for line in (lines[0], *map(str.lstrip, lines[1:])))
    if _line_without_secrets(whole) == whole:
        return list(lines)
    key = _KEY.match(lines[0])
    return [f"{key[0] if key else ''} {HIDDEN}", *[HIDDEN] * (len(lines) - 1)]


def _line_without_secrets(line: str) -> str:
    return without_credentials(without_secret_value(line))


def _without_values(address: str) -> str:
    return _PATH_VALUE.sub(rf"\1{HIDDEN}", _QUERY_VALUE.sub(rf"\1{HIDDEN}", address))
