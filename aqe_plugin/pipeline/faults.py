"""A file system's refusal as a sentence for a person; every other fault of a job stays what it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError

from aqe_plugin.errors import WriteError

__all__ = ["told_plainly"]


@contextmanager
def told_plainly(tables: str) -> Iterator[None]:
    """Around a job.

    Raises:
        WriteError: a file system refused something to the job.
    """
    try:
        yield
    except Py4JJavaError as error:
        cause = _refusal(error.java_exception)
        if cause is None:
            raise
        raise WriteError(
            f"{tables}: the job was refused a file ({cause}), and the tables hold what they held. Make sure that the "
            "logs may be read, and that the tables' folder may be written and has space; then run the job again."
        ) from error


def _refusal(error: Any) -> str | None:
    """What the first input or output error among the causes says."""
    for _ in range(20):
        if error is None:
            return None
        name = str(error.getClass().getName())
        if name.startswith(("java.io.", "java.nio.file.", "org.apache.hadoop.fs.", "org.apache.hadoop.security.")):
            return str(error.getMessage() or name).partition("\n")[0]
        error = error.getCause()
    return None
