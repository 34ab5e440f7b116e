"""Finds the target that a command means, and reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.conf.stores.file_store import CONF_FILE, FileStore, require_folder
from aqe_plugin.conf.target import ConfStore, TargetConf
from aqe_plugin.errors import ConfError

# The scheme of a target on a Kubernetes API server.
LIVE = "kubernetes:"
_CORE_JAR = re.compile(r"spark-core_[\d.]+-(?P<version>\d.*)\.jar")


@dataclass(frozen=True, slots=True)
class Target:
    """A store and what it held when it was read.

    Attributes:
        content: ``None`` when the file or the key does not exist.
        conf: ``content`` parsed; without content, an empty conf.
    """

    store: ConfStore
    content: bytes | None
    conf: TargetConf


def find_target(
    text: str | None,
    environment: Mapping[str, str],
    say: Callable[[str], None] = lambda _: None,
) -> ConfStore:
    """The target that ``text`` names, else ``spark-defaults.conf`` of ``SPARK_CONF_DIR`` or ``SPARK_HOME``.

    Args:
        text: an address on an API server, a file, or the folder that Spark was unpacked to, which stands for its
            ``spark-defaults.conf``. The links of a file are followed, so that a link stays a link.
        say: receives a sentence before each wait for a server.

    Raises:
        ConfError: none of these is given.
        TargetError: the folder of the file is not there, or the API server has no such object.
        ClusterError: the API server cannot be asked.
    """
    if text is not None and text.startswith(LIVE):
        # This import takes longer than all others together.
        from aqe_plugin.conf.stores.kubernetes_store import open_store

        return open_store(text, environment, say)
    if text is not None and text.strip().lower().startswith(LIVE):
        raise ConfError(f"{text}: an address begins with {LIVE}, in small letters and with no space before.")
    if text is not None:
        file = Path(text)
        found = FileStore((file / "conf" / CONF_FILE if (file / "conf").is_dir() else file).resolve())
        require_folder(found.path)
        return found
    home, folder = environment.get("SPARK_HOME"), environment.get("SPARK_CONF_DIR")
    if folder:
        return FileStore((Path(folder) / CONF_FILE).resolve())
    if home:
        return FileStore((Path(home) / "conf" / CONF_FILE).resolve())
    raise ConfError(
        "Which file? Neither SPARK_CONF_DIR nor SPARK_HOME is set: "
        f"give --target: {CONF_FILE}, the folder that Spark was unpacked to, or a Kubernetes file in YAML."
    )


def read_target(store: ConfStore) -> Target:
    """The target as it is now.

    Raises:
        TargetError: it cannot be read, or is not in the syntax that its name says.
        ConflictError: it is written in a way that cannot be changed.
    """
    content = store.read()
    return Target(store, content, store.parse(content))


def core_version(jars: Path) -> str | None:
    """The version of the Spark whose jars are in a folder, from the name of its core jar."""
    names = (_CORE_JAR.fullmatch(path.name) for path in jars.glob("spark-core_*.jar"))
    return next((match["version"] for match in names if match is not None), None)
