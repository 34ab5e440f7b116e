"""Tells servers, Hadoop addresses and local paths apart by their text."""

from __future__ import annotations

import re

_URL = re.compile(r"https?:", re.IGNORECASE)
# At least two letters: one letter is a drive.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/.*", re.DOTALL)


def is_url(source: str) -> bool:
    """Whether ``source`` is a server's address."""
    return _URL.match(source) is not None


def is_hadoop_uri(source: str) -> bool:
    """Whether ``source`` is an address in a Hadoop file system: ``hdfs://...``, ``s3a://...``, ``file:/...``."""
    return _URI.fullmatch(source) is not None and not is_url(source)
