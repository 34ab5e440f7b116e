"""The plugin of one running session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast, get_args, overload

from aqe_plugin.api.analysis import Analysis
from aqe_plugin.api.answers_in_spark import AnswersInSpark
from aqe_plugin.api.comparison import Comparison, compare
from aqe_plugin.api.counters import Counters
from aqe_plugin.api.decided import run_and_read
from aqe_plugin.api.explanation import Explanation, explained
from aqe_plugin.api.force import PluginPart, force_all, force_join, switch_off
from aqe_plugin.api.session_check import Checks, join_checks, joins_not_run
from aqe_plugin.api.session_confs import ConfScope, SessionConf, set_for_a_while
from aqe_plugin.api.statement import query_of
from aqe_plugin.api.thresholds import SessionThresholds, conf_values
from aqe_plugin.api.what_if import WhatIf, replayable_values, what_if
from aqe_plugin.conf.keys import MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY, conf_keys, sentence
from aqe_plugin.errors import ConfError, NotAvailableError, SessionError
from aqe_plugin.events.lines import FORCE_KEY
from aqe_plugin.events.model import Mode, Strategy
from aqe_plugin.install.checks import Check, key_checks, mode_set, nothing_decided
from aqe_plugin.install.forced_joins import not_forced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

    from aqe_plugin.api.threshold_fields import ThresholdChanges

_RAN = "The frame was run once, its rows discarded."


def _require_frame(method: str, frame: DataFrame) -> None:
    if not hasattr(frame, "sparkSession"):
        raise TypeError(f"{method} takes a DataFrame, such as that of spark.sql(...), not {type(frame).__name__}.")


class AqePlugin:
    """Shows and sets what the plugin does in one session, classic or of Spark Connect.

    Args:
        spark: a session of an application that was started with the plugin.

    Raises:
        SessionError: the plugin is not loaded in the application.
        TypeError: ``spark`` is no session.

    Examples:
        >>> aqe = AqePlugin(spark)
        >>> aqe.mode
        'apply'
    """

    __slots__ = ("_conf", "_spark", "_thresholds")

    def __init__(self, spark: SparkSession) -> None:
        if not hasattr(spark, "catalog"):
            raise TypeError(f"AqePlugin takes a SparkSession, not {type(spark).__name__}.")
        if not spark.catalog.functionExists("aqe_decide"):
            raise SessionError(
                "The plugin is not loaded in this session's application, and cannot be added while it runs. Start it "
                "with aqe_plugin.configure(builder); a Spark Connect server, or a submitted application, with "
                f"--jars $(aqe-plugin path jar) --conf {PLUGINS_KEY}={PLUGIN_CLASS}."
            )
        self._spark = spark
        self._conf: SessionConf = spark.conf
        self._thresholds = SessionThresholds(self._conf)

    @property
    def thresholds(self) -> SessionThresholds:
        """The session's thresholds, one attribute each.

        Examples:
            >>> aqe.thresholds.filter_max_pass_rate
            0.7
            >>> aqe.thresholds.filter_max_pass_rate = 7
            Traceback (most recent call last):
            ...
            aqe_plugin.errors.ConfError: ...filter.maxPassRate = 7 is not allowed: expected a number from 0 to 1.
        """
        return self._thresholds

    @property
    def mode(self) -> Mode:
        """The session's mode, ``off``, ``observe`` or ``apply``; setting it sets it until the session ends.

        Raises:
            ConfError: on reading, when the value in the session's conf is not a mode; on setting, when it is not one.

        Examples:
            >>> aqe.mode
            'apply'
            >>> aqe.mode = "on"
            Traceback (most recent call last):
            ...
            aqe_plugin.errors.ConfError: spark.aqePlugin.mode = 'on' is not allowed: expected one of ...
        """
        text = self._conf.get(MODE_KEY, None)
        mode = conf_keys()[MODE_KEY].default if text is None else text
        return _checked_mode(mode.strip().lower())

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._conf.set(MODE_KEY, _checked_mode(mode))

    def override(self, mode: Mode | None = None, **thresholds: Unpack[ThresholdChanges]) -> ConfScope:
        """Sets the mode and thresholds at once, all or none; the end of a ``with`` block restores those before.

        Raises:
            ConfError: the mode is none, or a threshold is unknown or out of range; nothing was set.

        Examples:
            >>> with aqe.override(mode="observe", broadcast_max_memory_bytes="256m"):
            ...     aqe.mode, aqe.thresholds.broadcast_max_memory_bytes
            ('observe', 268435456)
            >>> aqe.mode, aqe.thresholds.broadcast_max_memory_bytes
            ('apply', 134217728)
        """
        modes = {} if mode is None else {MODE_KEY: str(_checked_mode(mode))}
        return set_for_a_while(self._conf, {**modes, **conf_values(thresholds)}, "overridden in the session")

    def decisions(self) -> DataFrame:
        """The joins of the application's latest queries, one a row, as of when the frame is run.

        ``docs/reference/decisions.md`` lists the columns.

        Examples:
            >>> "choice" in aqe.decisions().columns
            True
        """
        return self._spark.sql("SELECT * FROM aqe_decisions()")

    def limits(self) -> DataFrame:
        """The limits of the application's latest queries that have ended, one a row, like :meth:`decisions`.

        Examples:
            >>> "files_chosen" in aqe.limits().columns
            True
        """
        return self._spark.sql("SELECT * FROM aqe_limits()")

    def predicates(self) -> DataFrame:
        """The latest predicates that were inferred across joins, one a row, like :meth:`decisions`.

        Examples:
            >>> "inferred_by" in aqe.predicates().columns
            True
        """
        return self._spark.sql("SELECT * FROM aqe_predicates()")

    def analyze(self, frame: DataFrame) -> Analysis:
        """What is decided for ``frame``, and why.

        Decisions use the measured sizes of finished stages, so ``frame`` is run once, in the session's mode, and its
        rows are discarded.

        Raises:
            ConfError: the session's conf has a value with which no join is decided; nothing was run.
            NotAvailableError: the mode is ``off``, which decides nothing; nothing was run.
            TypeError: ``frame`` is no frame.

        Examples:
            >>> aqe.analyze(sales.join(items, "item")).decisions[0].facts.build.rows
            200
        """
        _require_frame("analyze", frame)
        self._require_deciding(self.mode)
        queries = run_and_read(self._spark, frame)
        decided = {join.decision.join_id for query in queries for join in query.joins}
        absent = not_forced(self._conf.get(FORCE_KEY, None) or "", decided) if queries else ""
        ignored = (
            f"{check.name} = {sentence(check.finding.rstrip('.'))}" for check in self.check().checks if not check.ok
        )
        return Analysis(" ".join((_RAN, *filter(None, (absent, *ignored)))), queries)

    def explain(self, frame: DataFrame) -> Explanation:
        """What the plan of ``frame`` says of its joins; nothing is run.

        Before ``frame`` has run, that is which joins will be decided, and what each waits for. After an action of
        ``frame`` itself such as ``collect``, the choices, in a classic session; :meth:`analyze` and writers run a plan
        of their own. Spark Connect plans a frame anew each time.

        Raises:
            NotAvailableError: the plugin has no section in the application's EXPLAIN.
            TypeError: ``frame`` is no frame.

        Examples:
            >>> len(aqe.explain(sales.join(items, "item")).lines)
            1
        """
        _require_frame("explain", frame)
        found = explained(frame)
        if found is None:
            raise NotAvailableError(
                "EXPLAIN has no section of the plugin, because its jar is not on the driver's class path. Start the "
                "application with aqe_plugin.configure(builder), or with spark.driver.extraClassPath = the path of "
                "the jar. aqe.analyze(frame) runs the frame, and needs neither."
            )
        return found

    def what_if(self, frame: DataFrame | Analysis, **thresholds: Unpack[ThresholdChanges]) -> WhatIf:
        """What other ``thresholds`` would change: replays the decisions for ``frame`` by ``aqe_decide``.

        Runs ``frame`` once, as :meth:`analyze` does, or nothing when given an analysis; then one query over the facts
        of the decisions, which reads no table. Nothing is set.

        Raises:
            ConfError: a threshold is unknown, out of range, or not used in a decision, or the session's conf has a
                value with which nothing is decided; nothing was run.
            NotAvailableError: the mode is ``off``, which decides nothing; nothing was run.

        Examples:
            >>> seen = aqe.analyze(sales.join(items, "item"))
            >>> aqe.what_if(seen, broadcast_max_memory_bytes="1k").thresholds
            {'spark.aqePlugin.broadcast.maxMemoryBytes': '1k'}
        """
        asked = replayable_values(cast("dict[str, object]", thresholds))
        if isinstance(frame, Analysis):
            ran, seen = "Only the replay was run.", frame
        else:
            seen = self.analyze(frame)
            ran = f"{seen.ran} Then its decisions were replayed."
        return what_if(self._spark, ran, seen.decisions, self._thresholds.as_dict(), asked)

    def compare(
        self, query: DataFrame | str, runs: int = 3, *, progress: Callable[[str], object] = lambda _: None
    ) -> Comparison:
        """Runs ``query`` in the modes ``off`` and ``apply`` in turn: are its rows equal, and what does the plugin gain?

        Each side runs once for its rows, which also warms up, then ``runs`` times for its seconds. Rows are compared by
        their number and by checksums of all columns that Spark adds up, so no answer is too large; rows in doubt are
        fetched. Doubles may differ in their last digits (from the 24th bit on), unless they are in an array, a map or
        a struct. If the query ends with ORDER BY, its order is compared as well. The session's mode is restored.

        Args:
            query: a frame, or the SQL of a query.
            progress: is told what is run next.

        Raises:
            StatementError: the SQL is no query, or the query fails under Spark alone.
            ConfError: the session's conf has a value with which no join is decided, or ``runs`` is not positive;
                nothing was run.
            TypeError: ``query`` is neither a frame nor text.

        Examples:
            >>> aqe.compare(sales.join(items, "item"), runs=1).rows.verdict
            'equal'
        """
        if runs < 1:
            raise ConfError(f"runs = {runs} is not allowed: expected at least 1.")
        self._require_deciding("apply")
        frame = query_of(self._spark, query) if isinstance(query, str) else query
        _require_frame("compare", frame)
        return compare(AnswersInSpark(frame), runs, progress)

    def metrics(self) -> Counters:
        """What the plugin counted in all sessions since the application started.

        Waits until the queries that have ended are counted.

        Examples:
            >>> aqe.metrics()["errors"]
            0
        """
        rows = self._spark.sql("SELECT name, value FROM aqe_metrics()").collect()
        return Counters({row["name"]: row["value"] for row in rows})

    @overload
    def force(self, strategy: Strategy) -> ConfScope: ...

    @overload
    def force(self, strategy: Strategy, side: DataFrame) -> DataFrame: ...

    def force(self, strategy: Strategy, side: DataFrame | None = None) -> ConfScope | DataFrame:
        """Pins the strategy of joins, as far as Spark's hints and the session's confs allow.

        With ``side``, returns it with a hint for its next join: ``broadcast``, ``shuffled_hash`` or
        ``plain_sort_merge``. Without, sets confs at once for every join of the session, until the end of the ``with``
        block: ``plain_sort_merge``, with neither filter nor broadcast. A hint in a query overrides both.

        Raises:
            ConfError: there is no such strategy.
            NotAvailableError: the strategy cannot be forced; the message names an alternative.

        Examples:
            >>> hinted = sales.join(aqe.force("broadcast", items), "item")
            >>> with aqe.force("plain_sort_merge"):
            ...     rows = sales.join(items, "item").count()
        """
        return force_all(self._conf, strategy) if side is None else force_join(side, strategy)

    def switch_off(self, part: PluginPart = "plugin") -> ConfScope:
        """Switches the plugin off in the session, or its ``filters`` alone, until the end of the ``with`` block.

        Raises:
            ConfError: there is no such part.

        Examples:
            >>> with aqe.switch_off():
            ...     aqe.mode
            'off'
            >>> with aqe.switch_off("filters"):
            ...     aqe.mode
            'apply'
        """
        return switch_off(self._conf, part)

    def check(self, *, run: bool = False) -> Checks:
        """The session's mode, and each key of the plugin that is set in it.

        A value that is not allowed fails, a key that the plugin does not know, and adaptive execution that is off.

        Args:
            run: also run a join of 100 rows twice, and see that it is decided and right. With a value that is not
                allowed, or without adaptive execution, no join is decided, so none is run then.

        Examples:
            >>> aqe.check(run=True).ok
            True
        """
        conf = self._spark.conf.getAll
        checks = [_in_a_session(check) for check in key_checks(conf)]
        if run:
            stopping = nothing_decided(conf)
            checks += joins_not_run(stopping) if stopping else join_checks(self._spark, self.mode)
        return Checks(f"aqe-plugin in a session of Spark {self._spark.version}", tuple(checks))

    def __repr__(self) -> str:
        return f"AqePlugin(mode={mode_set(self._conf.get(MODE_KEY, None)).found!r})"

    def _require_deciding(self, mode: Mode) -> None:
        if mode == "off":
            raise NotAvailableError(
                "The session's mode is off, which decides nothing. "
                "Try another mode: with aqe.override(mode='observe'): aqe.analyze(frame)."
            )
        if checks := nothing_decided(self._spark.conf.getAll):
            found = "; ".join(f"{check.name} = {check.found}" for check in checks)
            raise ConfError(f"{found}. With that, no join is decided: nothing was run.")


def _in_a_session(check: Check) -> Check:
    known = conf_keys().get(check.name)
    if known is None or known.per_session or not check.ok:
        return check
    return replace(check, found=f"{check.found}, if set when the application started: it is read only then")


def _checked_mode(mode: str) -> Mode:
    if mode not in get_args(Mode):
        raise ConfError(f"{MODE_KEY} = {mode!r} is not allowed: expected one of {', '.join(get_args(Mode))}.")
    return cast("Mode", mode)
