"""Shell completion, asked of the real shells that this machine has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from aqe_plugin.cli.app import app
from aqe_plugin.cli.settings_.description import describe
from commands import Answer

COMMANDS = describe(app)
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


@pytest.fixture
def script(tmp_path: Path, answer: Answer) -> Path:
    code, out, err = answer("completion", "bash")
    assert (code, err) == (0, "")
    path = tmp_path / "aqe-plugin.bash"
    path.write_text(out)
    return path


def offered(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of ``words``."""
    ran = subprocess.run(
        ["bash", "--norc", "-c", ASK, "ask", str(script), "aqe-plugin", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
        cwd=script.parent,
    )
    return {word.strip() for word in ran.stdout.split()}


def test_bash_offers_every_command(script: Path) -> None:
    assert {command.words[0] for command in COMMANDS} <= offered(script, "")
    assert {command.words[1] for command in COMMANDS if len(command.words) > 1} <= offered(script, "pipeline", "")
    assert offered(script, "expl") == {"explain"}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_bash_offers_every_option_of_a_command_and_no_other(command: object, script: Path) -> None:
    (told,) = (one for one in COMMANDS if one is command)
    switched_off = {f"--no-{one.name}" for one in told.settings if one.shape is bool and one.default is True}
    expected = {f"--{one.name}" for one in told.settings if not one.secret} | switched_off | {"--help"}
    assert offered(script, *told.words, "--") == expected


def test_bash_offers_the_values_of_an_option_and_of_an_argument(script: Path) -> None:
    assert offered(script, "explain", "--format", "") == {"table", "json"}
    assert offered(script, "install", "--format", "") == {"table", "json", "conf", "diff"}
    assert offered(script, "install", "--mode", "a") == {"apply"}
    assert offered(script, "config", "") >= {"show", "path", "check"}
    assert offered(script, "completion", "f") == {"fish"}


def test_bash_offers_files_where_a_file_is_meant(script: Path) -> None:
    assert "aqe-plugin.bash" in offered(script, "status", "--target", "aqe")
    assert "aqe-plugin.bash" in offered(script, "explain", "aqe")


@pytest.mark.parametrize("shell", [shell for shell in CHECKS if shutil.which(shell)])
def test_a_shell_understands_its_script(shell: str, tmp_path: Path, answer: Answer) -> None:
    code, out, _ = answer("completion", shell)
    path = tmp_path / "script"
    path.write_text(out)
    ran = subprocess.run([*CHECKS[shell], str(path)], capture_output=True, text=True, check=False, timeout=30)
    assert (code, ran.returncode, ran.stderr) == (0, 0, "")


@pytest.mark.parametrize("shell", CHECKS)
def test_the_script_of_each_shell_names_every_command_and_option(shell: str, answer: Answer) -> None:
    _, out, _ = answer("completion", shell)
    for command in COMMANDS:
        assert all(word in out for word in command.words)
        assert all((setting.name in out) is not setting.secret for setting in command.settings)


def test_an_unknown_shell_is_refused_with_those_that_are_known(answer: Answer) -> None:
    code, _, err = answer("completion", "tcsh")
    assert code == 2
    assert all(shell in err for shell in CHECKS)
