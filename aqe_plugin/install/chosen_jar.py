"""Which jar an install puts into a conf."""

from __future__ import annotations

from pathlib import Path

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.conf.stores.locate import core_version, read_target
from aqe_plugin.conf.target import ConfStore, TargetConf
from aqe_plugin.errors import ConfError, MissingJarError, TargetError
from aqe_plugin.install.jars import jar_for, jar_name, spark_line
from aqe_plugin.install.plan import our_jars, without_scheme
from aqe_plugin.machine.pyspark import import_pyspark


def chosen_jar(store: ConfStore, jar: str | None, spark: str | None) -> str:
    """The jar as Spark will find it: the one asked for, else the one that the conf lists, else this machine's.

    So a new mode changes no jar, and needs none here. A listed file of this machine that is gone is replaced.

    Args:
        jar: a path or URL that was asked for.
        spark: the cluster's Spark version or line; without it, that of the Spark whose conf it is, else of PySpark.

    Raises:
        ConfError: ``jar`` is for another Spark line than ``spark``, or missing for a container image.
    """
    if jar is None:
        conf = read_target(store).conf
        listed = _listed(conf, spark or _own_version(store))
        if listed is not None:
            return listed
        if not conf.runs_on_this_machine:
            raise ConfError(
                f"{store.name}: Spark runs in a container image, and this machine's jar is not in it. "
                "Put it there and give --jar local:///path/in/the/image/aqe-plugin-spark-<line>-<version>.jar."
            )
        return str(jar_for(spark or _own_version(store) or str(import_pyspark().__version__)).resolve())
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


def _listed(conf: TargetConf, version: str | None) -> str | None:
    """The only jar of ours that the conf lists, unless it is for another Spark or, as a file of this machine, gone."""
    found = our_jars(conf)
    named = jar_name(found[0]) if len(found) == 1 else None
    if named is None or (version is not None and spark_line(version) != named.line):
        return None
    is_here = conf.runs_on_this_machine and found[0].startswith(("/", "file:"))
    return None if is_here and not Path(without_scheme(found[0])).is_file() else found[0]


def _own_version(store: ConfStore) -> str | None:
    """The version of the unpacked Spark whose conf it is; ``None`` elsewhere."""
    return core_version(store.path.parent.parent / "jars") if isinstance(store, FileStore) else None
