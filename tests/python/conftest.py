"""What several modules of tests ask for."""

from __future__ import annotations

import pytest

from commands import Answer


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Runs the command with a terminal of a known width, and no Spark in the environment."""
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    return Answer(capsys)
