"""The Java that Spark will start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from aqe_plugin.errors import SetupError

OLDEST_JAVA = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)[^"]*"')
_TIMEOUT_SECONDS = 60
_FIX = f"Install Java {OLDEST_JAVA} or newer and set JAVA_HOME to it."


def find_java(environment: Mapping[str, str] = os.environ) -> tuple[Path, int]:
    """The ``java`` of ``JAVA_HOME``, else the first on the path, as for Spark's launcher, and its release, e.g. 17.

    Raises:
        SetupError: Java is missing, does not run, or is too old for Spark 4.
    """
    path = _executable(environment)
    try:
        answer = subprocess.run(
            [str(path), "-version"], capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(f"{path} does not run ({error}). {_FIX}") from error
    match = _VERSION.search(answer.stderr + answer.stdout)
    if match is None:
        raise SetupError(f"{path} does not print its version. {_FIX}")
    if int(match[1]) < OLDEST_JAVA:
        raise SetupError(f"{path} is Java {match[1]}, and Spark 4 needs {OLDEST_JAVA} or newer. {_FIX}")
    return path, int(match[1])


def _executable(environment: Mapping[str, str]) -> Path:
    home = environment.get("JAVA_HOME", "")
    if home:
        path = Path(home) / "bin" / "java"
        if not path.is_file():
            raise SetupError(f"JAVA_HOME is {home}, and there is no bin/java in it. {_FIX}")
        return path
    found = shutil.which("java", path=environment.get("PATH", ""))
    if found is None:
        raise SetupError(f"No Java found: JAVA_HOME is not set and no java is on the PATH. {_FIX}")
    return Path(found)
