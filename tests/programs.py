"""Programs that are no packages of Python: those that the tests run for real where they can be had."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

__all__ = ["REQUIRED", "program_of"]

# Names of programs, with commas between, whose tests a change has to pass.
REQUIRED = "AQE_PLUGIN_REQUIRE_PROGRAMS"
_ROOT = Path(__file__).resolve().parents[1]


def program_of(finder: Path, environment: Mapping[str, str]) -> Path:
    """The program, or the folder of programs, that the script ``finder`` prints; it has the program's name.

    Where it finds none, the test is skipped with what it said to do, or fails with that when ``REQUIRED`` names it.
    """
    done = subprocess.run([str(finder)], cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = " ".join(done.stderr.split())
        if finder.name in environment.get(REQUIRED, "").split(","):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return Path(done.stdout.strip())
