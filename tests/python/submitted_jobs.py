"""Jobs that ``spark-submit`` runs with the plugin, and what they log."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyspark

from aqe_plugin.conf.keys import PLUGIN_CLASS
from aqe_plugin.install.jars import jar_for
from aqe_plugin.logs import Record, find_event_logs, read_log

__all__ = ["SubmittedJob", "submit_with_the_plugin"]

_LIMIT_SECONDS = 600


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
    job, events = folder / "job.py", folder / "events"
    job.write_text(script)
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
            str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
            *("--jars", str(jar_for(pyspark.__version__))),
            *(word for key, value in all_confs.items() for word in ("--conf", f"{key}={value}")),
            *(str(job), str(folder)),
        ],
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    return SubmittedJob(ran.stdout, ran.stderr, events)
