"""Tells servers, Hadoop addresses and local paths apart by their text, and reads the conf for Hadoop addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from aqe_plugin.errors import ConfError

_URL = re.compile(r"https?:", re.IGNORECASE)
# At least two letters: one letter is a drive.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/.*", re.DOTALL)


def is_url(source: str) -> bool:
    """Whether ``source`` is a server's address."""
    return _URL.match(source) is not None


def is_hadoop_uri(source: str) -> bool:
    """Whether ``source`` is an address in a Hadoop file system: ``hdfs://...``, ``s3a://...``, ``file:/...``."""
    return _URI.fullmatch(source) is not None and not is_url(source)


def conf_of(words: Sequence[str]) -> Mapping[str, str]:
    """``KEY=VALUE`` words as key → value; the last word of a key wins.

    Raises:
        ConfError: a word has another form; the message shows no value, which may be a password.
    """
    conf = {}
    for number, word in enumerate(words, start=1):
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise ConfError(
                f"--hadoop-conf no. {number}: write KEY=VALUE, e.g. --hadoop-conf fs.s3a.endpoint=http://minio:9000."
            )
        conf[key.strip()] = value
    return conf
