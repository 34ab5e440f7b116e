"""Which file is meant, and how it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.disk import read_or_none
from aqe_plugin.errors import ConfError, TargetError
from aqe_plugin.targets.port import TargetConf
from aqe_plugin.targets.properties import parse_properties

__all__ = ["Target", "find_target", "home_version", "parse_target", "read_target"]

_CONF_FILE = "spark-defaults.conf"
_YAML = (".yaml", ".yml")
_CORE_JAR = re.compile(r"spark-core_[\d.]+-(?P<version>\d.*)\.jar")


@dataclass(frozen=True, slots=True)
class Target:
    """A file to install into, and what it holds.

    Attributes:
        path: the file itself, links followed, so that a link stays one.
        content: its bytes, ``None`` when it does not exist.
        conf: what those bytes say; an absent file says nothing.
    """

    path: Path
    content: bytes | None
    conf: TargetConf


def find_target(file: Path | None, spark_home: Path | None, environment: Mapping[str, str]) -> Path:
    """The file to use: the one given, else ``conf/spark-defaults.conf`` of the Spark given, else what the environment
    says Spark would read (``SPARK_CONF_DIR``, then ``SPARK_HOME``).

    Raises:
        ConfError: nothing says which.
        TargetError: ``spark_home`` is no folder.
    """
    if file is not None:
        return file.resolve()
    if spark_home is not None:
        if not spark_home.is_dir():
            raise TargetError(f"{spark_home}: no such folder; --spark-home is the folder that Spark was unpacked to.")
        return (spark_home / "conf" / _CONF_FILE).resolve()
    if environment.get("SPARK_CONF_DIR"):
        return (Path(environment["SPARK_CONF_DIR"]) / _CONF_FILE).resolve()
    if environment.get("SPARK_HOME"):
        return (Path(environment["SPARK_HOME"]) / "conf" / _CONF_FILE).resolve()
    raise ConfError(
        "Which file? Neither SPARK_CONF_DIR nor SPARK_HOME is set: "
        f"give --target FILE ({_CONF_FILE}, or a Kubernetes file in YAML) or --spark-home FOLDER."
    )


def read_target(path: Path) -> Target:
    """The file as it is now.

    Raises:
        TargetError: it cannot be read, or is not what its name says.
        ConflictError: it is written in a way that cannot be changed.
    """
    content = read_or_none(path)
    return Target(path, content, parse_target(path, content))


def parse_target(path: Path, content: bytes | None) -> TargetConf:
    """What ``content`` says when it stands in the file ``path``.

    Raises:
        TargetError: it is not what the file's name says.
        ConflictError: it is written in a way that cannot be changed.
    """
    if path.suffix.lower() not in _YAML:
        return parse_properties(content or b"", str(path))
    if content is None:
        raise TargetError(f"{path}: no such file. A Kubernetes file must be there; only {_CONF_FILE} is made.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TargetError(f"{path}: byte {error.start} is no UTF-8, in which YAML is written.") from error
    # The YAML library is read only when there is YAML to read.
    from aqe_plugin.targets.kubernetes import parse_kubernetes

    return parse_kubernetes(text, str(path))


def home_version(spark_home: Path) -> str | None:
    """The version of an unpacked Spark, from the name of its own jar, ``None`` when it has none."""
    names = (_CORE_JAR.fullmatch(path.name) for path in (spark_home / "jars").glob("spark-core_*.jar"))
    return next((match["version"] for match in names if match is not None), None)
