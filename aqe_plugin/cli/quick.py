"""``path jar`` without Typer, whose import takes longer than the answer; scripts call it in every ``spark-submit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from aqe_plugin.cli.settings_file import is_anything_set
from aqe_plugin.install.jars import jar_for
from aqe_plugin.machine.pyspark import import_pyspark


def jar_path_answer(words: Sequence[str], environment: Mapping[str, str]) -> Path | None:
    """The answer to a plain ``path jar``, ``None`` for any other command line, and where settings might apply.

    Raises:
        AqePluginError: as ``jar_for`` and ``import_pyspark``.
    """
    spark: str | None
    match list(words):
        case ["path", "jar"]:
            spark = None
        case ["path", "jar", "--spark", spark]:
            pass
        case ["path", "jar", option] if option.startswith("--spark="):
            spark = option.partition("=")[2]
        case _:
            return None
    if spark is None and is_anything_set(environment):
        return None
    return jar_for(spark if spark is not None else import_pyspark().__version__)
