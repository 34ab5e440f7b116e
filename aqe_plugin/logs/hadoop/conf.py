"""Hadoop's conf keys for one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aqe_plugin.errors import ConfError


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
