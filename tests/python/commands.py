"""The command line, run in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from aqe_plugin.cli import main as cli

__all__ = ["Answer", "answer"]


class Answer:
    """Exit code, standard output and error of one command."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        return self._left(lambda: cli.main(list(words)))

    def of(self, app: typer.Typer, *words: str) -> tuple[int, str, str]:
        """The same of another command line than ours."""
        return self._left(lambda: app(list(words)))

    def _left(self, work: Callable[[], object]) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            work()
        out, err = self._capsys.readouterr()
        return int(left.value.code or 0), out, err


@pytest.fixture
def answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Answer:
    """Runs the command with a terminal of a known width, and no Spark and none of its user's settings around it."""
    monkeypatch.setenv("COLUMNS", "200")
    home: Path = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", *(name for name in os.environ if name.startswith("AQE_PLUGIN__"))):
        monkeypatch.delenv(name, raising=False)
    return Answer(capsys)
