"""Which file or object is meant, and what it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.conf.stores.file_store import CONF_FILE, Where, parse_target, store_of
from aqe_plugin.conf.stores.port import ConfStore, TargetConf
from aqe_plugin.conf.stores.session_address import SCHEME
from aqe_plugin.conf.stores.session_store import open_session
from aqe_plugin.errors import ConfError, TargetError

__all__ = ["LIVE", "Target", "Where", "find_target", "home_version", "parse_target", "read_target", "store_of"]

# How a target begins that is an object on an API server, and no file.
LIVE = "kubernetes:"
_CORE_JAR = re.compile(r"spark-core_[\d.]+-(?P<version>\d.*)\.jar")


@dataclass(frozen=True, slots=True)
class Target:
    """A place to install into, and what it holds.

    Attributes:
        store: the place; of a file its links are followed, so that a link stays one.
        content: its bytes, ``None`` when it does not exist.
        conf: what those bytes say; an absent file says nothing.
    """

    store: ConfStore
    content: bytes | None
    conf: TargetConf


def find_target(
    file: Path | None,
    spark_home: Path | None,
    environment: Mapping[str, str],
    say: Callable[[str], None] = lambda _: None,
) -> Where:
    """The place to use: the one given, else ``conf/spark-defaults.conf`` of the Spark given, else what the environment
    says Spark would read (``SPARK_CONF_DIR``, then ``SPARK_HOME``).

    Args:
        say: is told, in a sentence, when a server is waited for.

    Raises:
        ConfError: nothing says which.
        TargetError: ``spark_home`` is no folder, or there is no such object on the API server.
        ClusterError: the API server cannot be asked.
    """
    if file is not None and str(file).startswith(LIVE):
        # Its library takes longer to import than all others together.
        from aqe_plugin.conf.stores.live import open_store

        return open_store(str(file), environment, say)
    if file is not None and str(file).startswith(SCHEME):
        return open_session(str(file), environment, say)
    if file is not None:
        return file.resolve()
    if spark_home is not None:
        if not spark_home.is_dir():
            raise TargetError(f"{spark_home}: no such folder; --spark-home is the folder that Spark was unpacked to.")
        return (spark_home / "conf" / CONF_FILE).resolve()
    if environment.get("SPARK_CONF_DIR"):
        return (Path(environment["SPARK_CONF_DIR"]) / CONF_FILE).resolve()
    if environment.get("SPARK_HOME"):
        return (Path(environment["SPARK_HOME"]) / "conf" / CONF_FILE).resolve()
    raise ConfError(
        "Which file? Neither SPARK_CONF_DIR nor SPARK_HOME is set: "
        f"give --target FILE ({CONF_FILE}, or a Kubernetes file in YAML) or --spark-home FOLDER."
    )


def read_target(where: Where) -> Target:
    """The place as it is now.

    Raises:
        TargetError: it cannot be read, or is not what its name says.
        ConflictError: it is written in a way that cannot be changed.
    """
    store = store_of(where)
    content = store.read()
    return Target(store, content, store.parse(content))


def home_version(spark_home: Path) -> str | None:
    """The version of an unpacked Spark, from the name of its own jar, ``None`` when it has none."""
    names = (_CORE_JAR.fullmatch(path.name) for path in (spark_home / "jars").glob("spark-core_*.jar"))
    return next((match["version"] for match in names if match is not None), None)
