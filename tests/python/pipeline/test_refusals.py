"""Refusals of file systems during jobs of the pipeline, as messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from aqe_plugin.errors import WriteError
from aqe_plugin.pipeline.warehouse import refusals_as_errors


@dataclass
class Thrown:
    """A Java exception, as py4j hands it out."""

    name: str
    message: str | None
    cause: Any = None
    _target_id: str = "o1"

    def getClass(self) -> Any:  # noqa: N802 - Java's names
        return self

    def getName(self) -> str:  # noqa: N802
        return self.name

    def getMessage(self) -> str | None:  # noqa: N802
        return self.message

    def getCause(self) -> Any:  # noqa: N802
        return self.cause


def refused(thrown: Thrown) -> None:
    with refusals_as_errors("s3a://lake/tables"):
        raise Py4JJavaError("An error occurred", thrown)


@pytest.mark.parametrize(
    ("thrown", "said"),
    [
        (Thrown("org.apache.hadoop.security.AccessControlException", "not ann's: user=ann\nat x"), r"user=ann\)"),
        (Thrown("java.io.EOFException", None), r"refused access \(java\.io\.EOFException\)"),
    ],
)
def test_an_error_of_the_file_system_is_one_line(thrown: Thrown, said: str) -> None:
    with pytest.raises(WriteError, match=said) as error:
        refused(Thrown("java.util.concurrent.ExecutionException", "wrapped", thrown))
    assert "None" not in str(error.value)


def test_other_faults_are_not_changed() -> None:
    with pytest.raises(Py4JJavaError):
        refused(Thrown("java.lang.IllegalStateException", "a fault of ours"))
