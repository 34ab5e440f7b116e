"""Proves an installed plugin: a short real Spark application, started through the file that it was installed into."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.conf.stores.locate import Target, Where, home_version, read_target
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.errors import SessionError, SetupError, TargetError
from aqe_plugin.events.model import JoinDecided
from aqe_plugin.install.doctor import Check, Verdict, probe_checks
from aqe_plugin.install.plan import our_jars
from aqe_plugin.install.session import JARS_KEY
from aqe_plugin.install.session_probe import events_folder, probe_settings
from aqe_plugin.install.status import status_of
from aqe_plugin.logs import find_event_logs, read_log
from aqe_plugin.machine.pyspark import import_pyspark

__all__ = ["spark_home_of", "verify"]

# What cannot hold on this machine, or would keep the application from being the one process that is looked at.
_NOT_HERE = ("spark.kubernetes.", "spark.master", "spark.submit.", "spark.dynamicAllocation.")
_PACKAGE_FOLDER = Path(__file__).resolve().parents[2]


def spark_home_of(path: Where, given: Path | None, environment: Mapping[str, str]) -> Path:
    """The Spark to start: the one given, else the one whose ``conf`` it is, else ``SPARK_HOME``, else PySpark's.

    Raises:
        SessionError: there is no ``bin/spark-submit`` in it.
        PysparkMissingError: nothing says which, and PySpark is not installed.
    """
    if (
        given is None
        and isinstance(path, Path)
        and (path.parent.parent / "bin" / "spark-submit").is_file()
        and path.parent.name == "conf"
    ):
        given = path.parent.parent
    if given is None and environment.get("SPARK_HOME"):
        given = Path(environment["SPARK_HOME"])
    home = given if given is not None else Path(str(import_pyspark().__file__)).parent
    if not (home / "bin" / "spark-submit").is_file():
        raise SessionError(
            f"{home}: no bin/spark-submit in it. Give --spark-home, the folder that Spark was unpacked to."
        )
    return home


def verify(path: Where, home: Path, jar: Path | None, environment: Mapping[str, str]) -> Iterator[Check]:
    """Each check as soon as it is made; the first that fails without which the rest cannot be ends them.

    The application runs on this machine with one thread, whatever master the file names.

    Args:
        home: the Spark that is started.
        jar: used in the place of the jar that the file names, for one that lies in a container image.

    Raises:
        TargetError: the file cannot be read.
        SetupError: no version can be told of the Spark at ``home``.
    """
    status = status_of(path)
    if not status.plugin_listed:
        yield Check(
            "conf", Verdict.FAILED, f"{status.file}: the plugin is not installed in it; aqe-plugin install does that."
        )
        return
    bad = [f"{one.location} does not exist" for one in status.jars if one.exists is False and jar is None]
    bad += [f"{setting.key} = {setting.value}: {setting.problem}" for setting in status.settings if setting.problem]
    if bad:
        yield Check("conf", Verdict.FAILED, "; ".join(bad))
    else:
        yield Check("conf", Verdict.OK, f"{status.file} names the plugin{', and its jar' if status.jars else ''}")
    with tempfile.TemporaryDirectory(prefix="aqe-plugin-verify-") as name:
        folder = Path(name)
        properties = _properties(read_target(path), jar, folder)
        command = _command(home, properties, folder)
        version = home_version(home)
        if version is None:
            raise SetupError(f"{home}: no jars/spark-core_*.jar in it, so it is no Spark. Give --spark-home.")
        yield from probe_checks(command, _environment(home, environment), folder, version)
        yield _deciding(folder, status.mode)


def _properties(target: Target, jar: Path | None, folder: Path) -> Path:
    """The target itself where Spark can read it, else a properties file with what of it can hold here."""
    if isinstance(target.store, FileStore) and target.conf.runs_on_this_machine and jar is None:
        return target.store.path
    conf = {key: value for key, value in target.conf.items().items() if not key.startswith(_NOT_HERE)}
    for listed in our_jars(target.conf):
        if jar is not None:
            conf[JARS_KEY] = conf[JARS_KEY].replace(listed, str(jar))
        elif not target.conf.runs_on_this_machine and not Path(listed.removeprefix("local://")).is_file():
            raise TargetError(
                f"{target.store.name}: {listed} is not on this machine. Give --jar with a copy of it that is."
            )
    made = parse_properties(b"", "verify")
    for key, value in conf.items():
        if key.startswith("spark."):
            made = made.with_value(key, value)
    path = folder / "verify.conf"
    path.write_bytes(made.render())
    return path


def _command(home: Path, properties: Path, folder: Path) -> list[str]:
    script = folder / "probe.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n\nfrom aqe_plugin.install.session_probe import run_submitted\n\n"
        "run_submitted(Path(sys.argv[1]))\n",
        encoding="utf-8",
    )
    events_folder(folder).mkdir()
    settings = [word for key, value in probe_settings(folder).items() for word in ("--conf", f"{key}={value}")]
    here = ["--master", "local[1]", "--deploy-mode", "client", "--conf", "spark.dynamicAllocation.enabled=false"]
    submit = [str(home / "bin" / "spark-submit"), *here, "--properties-file", str(properties)]
    return [*submit, *settings, str(script), str(folder)]


def _environment(home: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The same with this Python and this package, and the Spark that was asked for."""
    python_path = [str(_PACKAGE_FOLDER), *filter(None, [environment.get("PYTHONPATH")])]
    left_out = ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONF_DIR")
    return {
        **{name: value for name, value in environment.items() if name not in left_out},
        "PYTHONPATH": ":".join(python_path),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
    }


def _deciding(folder: Path, mode: str | None) -> Check:
    decided = 0
    if events_folder(folder).is_dir() and any(events_folder(folder).iterdir()):
        logs = find_event_logs(events_folder(folder))
        decided = sum(isinstance(record, JoinDecided) for log in logs for record in read_log(log))
    if decided:
        return Check("deciding", Verdict.OK, f"{decided} joins decided in mode {mode or 'apply (the default)'}")
    if mode == "off":
        return Check(
            "deciding", Verdict.FAILED, "the mode is off: nothing is decided. aqe-plugin install --mode observe"
        )
    return Check("deciding", Verdict.FAILED, "no join was decided: the lines above, or the driver's log, say why.")
