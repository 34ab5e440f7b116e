"""Jobs that ``spark-submit`` runs with the plugin, and what they log."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from aqe_plugin.conf.keys import PLUGIN_CLASS
from aqe_plugin.install.jars import jar_for
from aqe_plugin.logs import Record, find_event_logs, read_log

__all__ = ["SubmittedJob", "submit_java_with_the_plugin", "submit_with_the_plugin"]

_LIMIT_SECONDS = 600
_SPARK = Path(pyspark.__file__).parent


@dataclass(frozen=True)
class SubmittedJob:
    """What a job that has ended left behind."""

    stdout: str
    stderr: str
    event_log_folder: Path

    def events(self) -> list[Record]:
        """The events of its application in the order they were written."""
        return [event for log in find_event_logs(self.event_log_folder) for event in read_log(log)]


def submit_with_the_plugin(folder: Path, script: str, confs: Mapping[str, str]) -> SubmittedJob:
    """Runs ``script`` until it ends, with ``folder`` as its argument and the plugin's jar from ``--jars`` alone."""
    job = folder / "job.py"
    job.write_text(script)
    return _submit(folder, [str(job)], confs)


def submit_java_with_the_plugin(folder: Path, source: Path, confs: Mapping[str, str]) -> SubmittedJob:
    """The same for the class that ``source`` is named after."""
    classes, job = folder / "classes", folder / "job.jar"
    subprocess.run(["javac", "-cp", f"{_SPARK}/jars/*", "-d", str(classes), str(source)], check=True)
    subprocess.run(["jar", "cf", str(job), "-C", str(classes), "."], check=True)
    return _submit(folder, ["--class", source.stem, str(job)], confs)


def _submit(folder: Path, job: Sequence[str], confs: Mapping[str, str]) -> SubmittedJob:
    events = folder / "events"
    events.mkdir()
    all_confs = {
        "spark.plugins": PLUGIN_CLASS,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.ui.enabled": "false",
        **confs,
    }
    ran = subprocess.run(
        [
            str(_SPARK / "bin" / "spark-submit"),
            *("--jars", str(jar_for(pyspark.__version__))),
            *(word for key, value in all_confs.items() for word in ("--conf", f"{key}={value}")),
            *job,
            str(folder),
        ],
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    return SubmittedJob(ran.stdout, ran.stderr, events)
