"""What tuning learns from: a history, read from event logs or from tables, and what decides it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from aqe_plugin.errors import ConfError, NoDataError
from aqe_plugin.logs.hadoop.conf import conf_of
from aqe_plugin.pipeline.history import history_in
from aqe_plugin.pipeline.session import job_session
from aqe_plugin.render.progress import log_progress
from aqe_plugin.render.terminal import shown
from aqe_plugin.tuning.history import History
from aqe_plugin.tuning.history_of_logs import history_of_logs
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.spark_replay import SparkReplay, local_replay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Evidence", "evidence", "read_history"]


def read_history(logs: Sequence[str], hadoop_conf: Sequence[str] = ()) -> History:
    """The history in ``logs``: paths, or addresses that Spark opens with the ``KEY=VALUE`` of ``hadoop_conf``.

    Raises:
        EventLogError: one of them is not there.
        NoDataError: there is no finished query with a decision in any of them.
    """
    stderr = Console(stderr=True, soft_wrap=True)
    with log_progress(stderr) as progress:
        read = history_of_logs(logs, conf_of(hadoop_conf), progress)
    stderr.print(f"Read {read.logs:,} {'log' if read.logs == 1 else 'logs'}.", highlight=False)
    if read.skipped:
        stderr.print(Text(f"skipped {len(read.skipped)}, the first: {shown(str(read.skipped[0]))}", style="yellow"))
    if not read.history.runs:
        raise NoDataError(f"{', '.join(logs)}: no finished query with a decision of aqe-plugin in it.")
    return read.history


@dataclass(frozen=True, slots=True)
class Evidence:
    """What tuning goes by.

    Attributes:
        everywhere: what queries took, those of a canary's own logs apart.
        tried: reads what those of the canary took; nothing where there is none.
        replay: starts what decides ``everywhere`` again.
    """

    everywhere: History
    tried: Callable[[], History]
    replay: Callable[[], AbstractContextManager[Replay]]


@contextmanager
def evidence(
    logs: Sequence[str] | None,
    tables: str | None,
    hadoop_conf: Sequence[str] = (),
    canary_logs: Sequence[str] | None = None,
    canary_tables: str | None = None,
) -> Iterator[Evidence]:
    """What is known, from logs or from tables, and what decides it again.

    Raises:
        ConfError: neither is given, or both are; likewise of the canary.
        NoDataError: there is no finished query with a decision in any of them.
    """
    if (tables is None) == (not logs):
        raise ConfError("Give event logs, or --decisions with the tables that were made of them.")
    if canary_tables is not None and (tables is None or canary_logs):
        raise ConfError("--canary-decisions goes with --decisions, and in place of --canary-log.")

    def logged() -> History:
        return read_history(canary_logs, hadoop_conf) if canary_logs else History((), ())

    if tables is None:
        history = read_history(logs or [], hadoop_conf)
        yield Evidence(history, logged, partial(_replay_of, history))
        return
    stderr = Console(stderr=True, soft_wrap=True)
    stderr.print("Starting Spark to read the tables ...")
    with job_session("aqe-plugin tuning") as spark:
        history = _read_tables(spark, tables)

        def again() -> AbstractContextManager[Replay]:
            stderr.print(f"{_in_words(history)}. Deciding them again ...")
            return nullcontext(SparkReplay(spark))

        tried = logged if canary_tables is None else partial(_read_tables, spark, canary_tables)
        yield Evidence(history, tried, again)


def _read_tables(spark: SparkSession, tables: str) -> History:
    history = history_in(spark, tables)
    if not history.runs:
        raise NoDataError(f"{tables}: no finished query with a decision of aqe-plugin in it.")
    return history


def _replay_of(history: History) -> AbstractContextManager[Replay]:
    """What decides ``history`` again, in a Spark session of its own; starting that is told of on standard error."""
    Console(stderr=True, soft_wrap=True).print(f"{_in_words(history)}. Starting Spark to decide them again ...")
    start: Callable[[], AbstractContextManager[Replay]] = local_replay
    return start()


def _in_words(history: History) -> str:
    shapes = len({run.cohort for run in history.runs})
    runs = len(history.runs)
    return f"{runs} {'run' if runs == 1 else 'runs'} of {shapes} query {'shape' if shapes == 1 else 'shapes'}"
