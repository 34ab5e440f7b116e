"""The jars that this package carries, one for each Spark line, and those that a conf names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.errors import ConfError, MissingJarError, UnsupportedSparkError

_PACKAGE = Path(__file__).parents[1]
_JAR_NAME = re.compile(r"aqe-plugin-spark-(?P<line>\d+\.\d+)-(?P<version>.+)\.jar")
_SPARK_VERSION = re.compile(r"(\d+\.\d+)(?:\D.*)?")

JARS_FOLDER = _PACKAGE / "jars"
PACKAGE_VERSION = (_PACKAGE / "VERSION").read_text(encoding="utf-8").strip()


def spark_line(version: str) -> str:
    """The ``major.minor`` line of a Spark version: ``4.1`` for ``4.1``, ``4.1.3`` and ``4.1.0.dev2``.

    Raises:
        ConfError: ``version`` does not start with two numbers.
    """
    match = _SPARK_VERSION.fullmatch(version.strip())
    if match is None:
        raise ConfError(f"{version!r} is not a Spark version: expected something like 4.1 or 4.1.3.")
    return match[1]


@dataclass(frozen=True, slots=True)
class JarName:
    """The Spark line and the version in the file name of one of our jars."""

    line: str
    version: str


def jar_name(location: str) -> JarName | None:
    """The name at the end of a path or URL, ``None`` when it is not a jar of ours."""
    match = _JAR_NAME.fullmatch(location.rsplit("/", 1)[-1].rsplit("\\", 1)[-1].strip())
    return None if match is None else JarName(match["line"], match["version"])


def carried_jars(folder: Path = JARS_FOLDER, version: str = PACKAGE_VERSION) -> dict[str, Path]:
    """The jars of this version of the package by Spark line, newest line first."""
    found = ((_JAR_NAME.fullmatch(path.name), path) for path in folder.glob("*.jar"))
    jars = {match["line"]: path for match, path in found if match is not None and match["version"] == version}
    return dict(sorted(jars.items(), key=lambda item: [int(part) for part in item[0].split(".")], reverse=True))


def jar_for(spark_version: str, folder: Path = JARS_FOLDER, version: str = PACKAGE_VERSION) -> Path:
    """The jar for ``spark_version``, a line or a full version.

    Raises:
        MissingJarError: the package carries no jar at all.
        UnsupportedSparkError: none of its jars is for that Spark line.
        ConfError: ``spark_version`` is not a version.
    """
    jars = carried_jars(folder, version)
    if not jars:
        raise MissingJarError(
            f"aqe-plugin {version} found no jar of its own in {folder}. "
            "From a checkout run `make jar`; an installed package is damaged: install its wheel again."
        )
    line = spark_line(spark_version)
    if line not in jars:
        ours = f"{'one' if len(jars) == 1 else 'jars'} for {', '.join(jars)}"
        raise UnsupportedSparkError(
            f"aqe-plugin {version} has no jar for Spark {spark_version}; it has {ours}. "
            "Use one of these, or leave the plugin out; in a checkout, `make jar` builds all supported lines."
        )
    return jars[line]
