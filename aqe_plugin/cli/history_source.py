"""Past queries for `recommend` and `rollout`, from event logs or tables, and what decides these queries again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain

from rich.console import Console

from aqe_plugin.errors import ConfError, NoDataError
from aqe_plugin.events.model import JoinFacts
from aqe_plugin.logs import Skipped
from aqe_plugin.logs.addresses import conf_of
from aqe_plugin.logs.queries import queries_of
from aqe_plugin.render.messages import say, warn
from aqe_plugin.render.progress import log_progress
from aqe_plugin.tuning.history import QueryHistory, history_of
from aqe_plugin.tuning.replay import Replay, Replayed
from aqe_plugin.tuning.spark_replay import SparkReplay, local_replay
from aqe_plugin.tuning.spark_session import job_session


@dataclass(frozen=True, slots=True)
class HistorySource:
    """Past queries, and what starts the decision function, which raises NoDataError where no query can be decided."""

    history: QueryHistory
    replay: Callable[[], AbstractContextManager[Replay]]


@contextmanager
def opened_history(
    logs: Sequence[str] | None, tables: str | None, hadoop_conf: Sequence[str] | None
) -> Iterator[HistorySource]:
    """The queries in ``logs`` (paths, or addresses that Spark opens with ``hadoop_conf``), or in ``tables``.

    Raises:
        ConfError: neither is given, or both.
        NoDataError: there is no query that ended with a decision, a failure or an error of the plugin.
    """
    if (tables is None) == (not logs):
        raise ConfError("Give event logs, or --decisions with the tables that were made of them.")
    if tables is None:
        place = ", ".join(logs or ())
        history = _checked(history_of_logs(logs or (), hadoop_conf or ()), place)

        def local() -> AbstractContextManager[Replay]:
            _require_runs(history, place)
            say(f"{_counted(history)}.")
            return _once_asked(local_replay)

        yield HistorySource(history, local)
        return
    from aqe_plugin.pipeline.history import history_in

    say("Starting Spark to read the tables ...")
    with job_session("aqe-plugin tuning") as spark:
        history = _checked(history_in(spark, tables), tables)

        def replay() -> AbstractContextManager[Replay]:
            _require_runs(history, tables)
            say(f"{_counted(history)}. Deciding them again ...")
            return nullcontext(SparkReplay(spark))

        yield HistorySource(history, replay)


@contextmanager
def _once_asked(start: Callable[[], AbstractContextManager[Replay]]) -> Iterator[Replay]:
    """A replay that starts Spark with the first question: of too few runs, none is asked."""
    with ExitStack() as stack:
        started: list[Replay] = []

        def replay(
            facts: Sequence[JoinFacts], thresholds: Sequence[Mapping[str, float]]
        ) -> Sequence[Sequence[Replayed]]:
            if not started:
                say("Starting Spark to decide them again ...")
                started.append(stack.enter_context(start()))
            return started[0](facts, thresholds)

        yield replay


def history_of_logs(logs: Sequence[str], hadoop_conf: Sequence[str]) -> QueryHistory:
    """The history in ``logs``, read in that order; says what was read and what was skipped."""
    skipped: list[Skipped] = []
    conf = conf_of(hadoop_conf)
    with log_progress(Console(stderr=True)) as progress:
        read = partial(queries_of, on_skip=skipped.append, hadoop_conf=conf, track=progress.track)
        history = history_of(chain.from_iterable(map(read, logs)))
    say(f"Read {progress.read:,} {'log' if progress.read == 1 else 'logs'}.")
    if skipped:
        warn(f"skipped {len(skipped)}, the first: {skipped[0]}")
    return history


def _checked(history: QueryHistory, source: str) -> QueryHistory:
    # Failures and errors are evidence against a change also where nothing succeeded.
    if not (history.failures or history.faults):
        _require_runs(history, source)
    return history


def _require_runs(history: QueryHistory, source: str) -> None:
    if not history.runs:
        raise NoDataError(f"{source}: no finished query with a decision of aqe-plugin in it.")


def _counted(history: QueryHistory) -> str:
    runs, fingerprints = len(history.runs), len({run.fingerprint for run in history.runs})
    return f"{runs} {'run' if runs == 1 else 'runs'} of {fingerprints} fingerprint{'' if fingerprints == 1 else 's'}"
