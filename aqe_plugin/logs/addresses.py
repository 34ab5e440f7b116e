"""What an address names, told by how it is written."""

from __future__ import annotations

import re

__all__ = ["is_hadoop_uri", "is_url"]

_URL = re.compile(r"https?:", re.IGNORECASE)
# Two letters at least, as one is a drive's.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/.*", re.DOTALL)


def is_url(source: str) -> bool:
    """Whether that names a server, and no file or folder."""
    return _URL.match(source) is not None


def is_hadoop_uri(source: str) -> bool:
    """Whether that names something in one of Hadoop's file systems: ``hdfs://...``, ``s3a://...``, ``file:/...``."""
    return _URI.fullmatch(source) is not None and not is_url(source)
