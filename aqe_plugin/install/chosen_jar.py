"""Which jar an install puts into a conf."""

from __future__ import annotations

from pathlib import Path

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.conf.stores.locate import core_version, read_target
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import ConfError, MissingJarError, TargetError
from aqe_plugin.install.jars import jar_for, jar_name, spark_line
from aqe_plugin.machine.pyspark import import_pyspark


def chosen_jar(store: ConfStore, jar: str | None, spark: str | None) -> str:
    """The jar as Spark will find it.

    Args:
        jar: a path or URL that was asked for.
        spark: the cluster's Spark version or line; without it, that of the Spark whose conf it is, else of PySpark.

    Raises:
        ConfError: ``jar`` is for another Spark line than ``spark``, or missing for a container image.
    """
    if jar is None:
        if not read_target(store).conf.runs_on_this_machine:
            raise ConfError(
                f"{store.name}: Spark runs in a container image, and this machine's jar is not in it. "
                "Put it there and give --jar local:///path/in/the/image/aqe-plugin-spark-<line>-<version>.jar."
            )
        return str(jar_for(spark or _version_of(store)).resolve())
    is_url = ":" in jar
    if not is_url:
        require_jar(Path(jar))
    named = jar_name(jar)
    if named is None:
        raise ConfError(
            f"{jar}: is not named like a jar of aqe-plugin (aqe-plugin-spark-<line>-<version>.jar). "
            "`aqe-plugin path jar` prints the one of this package."
        )
    if spark is not None and spark_line(spark) != named.line:
        raise ConfError(f"--jar {jar} is for Spark {named.line}, and --spark is {spark}: give the jar for that line.")
    return jar if is_url else str(Path(jar).resolve())


def require_jar(jar: Path) -> None:
    """Makes sure that ``jar`` is a file.

    Raises:
        TargetError: it is a folder.
        MissingJarError: it does not exist.
    """
    if jar.is_dir():
        raise TargetError(f"{jar}: a folder, not a jar.")
    if not jar.is_file():
        raise MissingJarError(
            f"{jar}: no such file. Give --jar with the path of a jar; `aqe-plugin path jar` names ours."
        )


def _version_of(store: ConfStore) -> str:
    own = core_version(store.path.parent.parent / "jars") if isinstance(store, FileStore) else None
    return own or str(import_pyspark().__version__)
