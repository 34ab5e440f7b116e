"""Shell completion, asked of the real shells that this machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from aqe_plugin.cli.app import app
from aqe_plugin.cli.settings import settings_of

pytestmark = pytest.mark.process

SETTINGS = settings_of(typer.main.get_command(app), {}, None)
CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}
# What bash does when TAB is pressed after these words.
ASK = """
source "$1"; shift
complete -p aqe-plugin > /dev/null || exit 9
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
handler=$(complete -p aqe-plugin | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$handler" aqe-plugin "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def shown(shell: str) -> str:
    """What `--show-completion` prints for the shell of the process."""
    asked = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "aqe_plugin", "--show-completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=asked).stdout


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "aqe-plugin.bash"
    path.write_text(shown("bash"))
    command = tmp_path / "bin" / "aqe-plugin"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aqe_plugin "$@"\n')
    command.chmod(0o755)
    return path


def offered(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of ``words``."""
    ran = subprocess.run(
        ["bash", "--norc", "-c", ASK, "ask", str(script), "aqe-plugin", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PATH": f"{script.parent / 'bin'}:{os.environ['PATH']}"},
    )
    return {word.strip() for word in ran.stdout.split()}


def test_bash_offers_every_command(script: Path) -> None:
    assert {one.words[0] for one in SETTINGS} <= offered(script, "")
    for group in ("pipeline",):
        inner = {one.words[1] for one in SETTINGS if one.words[0] == group}
        assert inner
        assert inner <= offered(script, group, "")
    assert offered(script, "expl") == {"explain"}


@pytest.mark.parametrize("command", ["explain", "run", "check", "rollout"])
def test_bash_offers_every_option_of_a_command_but_no_secret(command: str, script: Path) -> None:
    mine = [one for one in SETTINGS if one.command == command]
    switched_off = {name for one in mine for name in one.option.secondary_opts}
    expected = {f"--{one.name}" for one in mine if not one.option.hidden} | switched_off | {"--help"}
    assert offered(script, command, "--") == expected


def test_bash_offers_the_values_of_an_option_and_of_an_argument(script: Path) -> None:
    assert offered(script, "explain", "--format", "") == {"table", "json"}
    assert offered(script, "install", "--mode", "a") == {"apply"}
    assert offered(script, "path", "s") == {"script"}


def test_bash_falls_back_to_files_where_nothing_is_offered(script: Path) -> None:
    assert "complete -o default" in script.read_text()
    assert offered(script, "check", "--target", "aqe") == set()


@pytest.mark.parametrize("shell", [shell for shell in CHECKS if shutil.which(shell)])
def test_each_shell_accepts_its_completion_script(shell: str, tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text(shown(shell))
    ran = subprocess.run([*CHECKS[shell], str(path)], capture_output=True, text=True, check=False, timeout=30)
    assert (ran.returncode, ran.stderr, "aqe-plugin" in path.read_text()) == (0, "", True)
