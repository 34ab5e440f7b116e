"""Credentials in addresses, which no journal and no log keeps."""

from __future__ import annotations

import re

HIDDEN = "(hidden)"
# Up to the last @ before the path; a password may hold colons.
_IN_ADDRESS = re.compile(r"(?<=://)[^/?#\s,]*(?=@)")


def without_credentials(text: str) -> str:
    """``text`` with user and password of each address in it hidden: ``https://(hidden)@host/x.jar``."""
    return _IN_ADDRESS.sub(HIDDEN, text)
