"""Why an application decided nothing, from the conf that its event log has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aqe_plugin.conf.keys import MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY, entries_of
from aqe_plugin.events.lines import EnvironmentSet
from aqe_plugin.install.checks import ADAPTIVE_KEY, Check, CheckVerdict, adaptive_problem
from aqe_plugin.logs import read_log
from aqe_plugin.logs.files import opened_files

_EXTENSIONS_KEY = "spark.sql.extensions"
_ON_KUBERNETES = (
    "a driver in cluster mode on Kubernetes is started with --properties-file, and reads no spark-defaults.conf of its "
    "image or of a ConfigMap: put the keys into spec.sparkConf of the application, or into the conf of the machine "
    "that submits it"
)
_ELSEWHERE = (
    "its conf is not that of the file with the plugin, or overrides it: by --properties-file without "
    f"--load-spark-defaults, by {PLUGINS_KEY} of its own, or by another SPARK_CONF_DIR"
)


def why_undecided(conf: Mapping[str, str]) -> str:
    """Why an application that started with this conf decides no join; empty when the conf does not say."""
    if PLUGIN_CLASS not in entries_of(conf.get(PLUGINS_KEY)):
        found = f"{PLUGINS_KEY} = {conf[PLUGINS_KEY]}" if conf.get(PLUGINS_KEY) else f"no {PLUGINS_KEY}"
        in_cluster = conf.get("spark.kubernetes.submitInDriver", "").lower() == "true"
        return f"it did not load the plugin (it has {found}): {_ON_KUBERNETES if in_cluster else _ELSEWHERE}"
    if not any(entry.startswith("io.aqeplugin.") for entry in entries_of(conf.get(_EXTENSIONS_KEY))):
        return (
            'the plugin stood down when it started: the driver\'s log says why, in a warning that begins "aqe-plugin: "'
        )
    if conf.get(MODE_KEY, "").strip().lower() == "off":
        return f"it started with {MODE_KEY} = off"
    problem = adaptive_problem(conf)
    return f"it started with {ADAPTIVE_KEY} = {conf[ADAPTIVE_KEY]}: {problem}" if problem else ""


def first_undecided(source: Path | str, hadoop_conf: Mapping[str, str] | None = None) -> str:
    """The first application of some event logs whose conf says why it decided nothing, and why; empty for none."""
    with opened_files(source, hadoop_conf) as files:
        for log in files.find():
            started = (record for record in read_log(log, files) if isinstance(record, EnvironmentSet))
            why = next((why_undecided(found.properties) for found in started), "")
            if why:
                return f"{log.name}: {why}"
    return ""


def application_decides(log: Path) -> Check:
    """Whether the conf of each application in an event log, or a folder of logs, lets the plugin decide."""
    why = first_undecided(log)
    if why:
        return Check("application", CheckVerdict.FAILED, why)
    return Check("application", CheckVerdict.OK, f"{log}: loaded the plugin")
