"""What ``check`` says of event logs, and why an application decided nothing, from the conf that its log has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from aqe_plugin.conf.keys import MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY, entries_of, problem_of
from aqe_plugin.errors import EventLogError
from aqe_plugin.events.lines import FORCE_KEY, Decided, EnvironmentSet, ExecutorRemoved
from aqe_plugin.events.model import ExecutionEnded, ExecutionStarted, JoinDecided, QueryEnded, TrialArm
from aqe_plugin.install.checks import AS_IF_NOT_FORCED, Check, nothing_decided, tried
from aqe_plugin.install.forced_joins import not_forced
from aqe_plugin.logs import Record, Skipped, find_event_logs, read_log

_NAMES_SHOWN = 3
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

_NOT_HERE = (
    "it did not load the plugin, and neither does the conf that is checked: the plugin is not switched on there "
    "(aqe-plugin install does that)"
)
_NONE_DECIDED = (
    "no query had a join, limit or predicate that the plugin decides, or the session of each switched it off"
)
# The reason of Spark is "Unable to create executor due to io.aqeplugin.AqePlugin".
_NO_JAR = (
    f"its executors did not start, because they have no {PLUGIN_CLASS}: the jar is on the driver's class path alone. "
    "Give it with --jars or spark.jars, or put it into Spark's jars folder on every machine"
)


def log_checks(log: Path, switched_off: bool = False) -> Iterator[Check]:
    """Whether an event log, or a folder of logs, can be read, and each application in it loaded the plugin.

    Args:
        switched_off: the conf that is checked is known to lack the plugin, so an application need not load it.
    """
    undecided, forced = Undecided(switched_off), UnmetForce()

    def saw(name: str, record: Record) -> None:
        undecided.saw(name, record)
        forced.saw(name, record)

    readable = event_log("event log", log, saw)
    yield readable
    if readable.ok:
        found = undecided.by_reason()
        for why, names in found.items():
            yield Check("application", "remark" if why == _NOT_HERE else "failed", _sentence(names, why))
        if not found:
            yield Check("application", "ok", f"{log}: loaded the plugin")
        yield from (Check("force", "remark", one) for one in forced.sentences())


def event_log(name: str, path: Path, see: Callable[[str, Record], object] = lambda log, record: None) -> Check:
    """Whether an event log, or a folder of logs, can be read; counts the decisions in it.

    Args:
        see: gets each record, with the name of its log.
    """
    return tried(name, lambda: _read_event_log(path, see))


def _read_event_log(path: Path, see: Callable[[str, Record], object]) -> str:
    readable, decisions, skipped, arms = 0, 0, list[Skipped](), Counter[TrialArm]()
    for log in find_event_logs(path):
        unread = 0
        for record in read_log(log):
            see(log.name, record)
            decisions += isinstance(record, JoinDecided)
            if isinstance(record, QueryEnded) and record.arm is not None:
                arms[record.arm] += 1
            if isinstance(record, Skipped):
                skipped.append(record)
                unread += record.line is None
        readable += unread < len(log.parts)
    if readable == 0:
        raise EventLogError(f"{skipped[0]}.")
    left_out = f"; {len(skipped)} skipped, first: {skipped[0]}" if skipped else ""
    by_arm = ", ".join(f"{arms[arm]} {arm}" for arm in get_args(TrialArm))
    tried = f"; queries by arm: {by_arm}" if arms else ""
    of = f"{decisions} {'decision' if decisions == 1 else 'decisions'}"
    return f"{readable} readable, {of} in {'it' if readable == 1 else 'them'}{tried}{left_out}"


def why_undecided(conf: Mapping[str, str], switched_off: bool = False) -> str:
    """Why an application that started with this conf decides no join; empty when the conf does not say."""
    if PLUGIN_CLASS not in entries_of(conf.get(PLUGINS_KEY)):
        if switched_off:
            return _NOT_HERE
        found = f"{PLUGINS_KEY} = {conf[PLUGINS_KEY]}" if conf.get(PLUGINS_KEY) else f"no {PLUGINS_KEY}"
        in_cluster = conf.get("spark.kubernetes.submitInDriver", "").lower() == "true"
        return f"it did not load the plugin (it has {found}): {_ON_KUBERNETES if in_cluster else _ELSEWHERE}"
    if not any(entry.startswith("io.aqeplugin.") for entry in entries_of(conf.get(_EXTENSIONS_KEY))):
        return (
            'the plugin stood down when it started: the driver\'s log says why, in a warning that begins "aqe-plugin: "'
        )
    if conf.get(MODE_KEY, "").strip().lower() == "off":
        return f"it started with {MODE_KEY} = off"
    wrong = next(iter(nothing_decided(conf)), None)
    return f"it started with {MODE_KEY if wrong.name == 'mode' else wrong.name} = {wrong.finding}" if wrong else ""


class Undecided:
    """The applications that decided nothing, or could run nothing, as far as their logs say why."""

    def __init__(self, switched_off: bool = False) -> None:
        self._switched_off = switched_off
        self._whys: dict[str, str] = {}
        self._without_executors: set[str] = set()
        self._modes: dict[str, str] = {}
        self._ended: set[str] = set()
        self._at_work: set[str] = set()

    def saw(self, name: str, record: Record) -> None:
        """Notes what a record says of the application whose log has this name."""
        if isinstance(record, ExecutorRemoved) and PLUGIN_CLASS in record.reason:
            self._without_executors.add(name)
        elif isinstance(record, Decided):
            self._whys[name] = ""
            self._at_work.add(name)
        elif isinstance(record, ExecutionEnded):
            self._ended.add(name)
        elif isinstance(record, QueryEnded) and record.errors:
            self._at_work.add(name)
        elif isinstance(record, EnvironmentSet):
            # Spark writes it again when a job adds a jar.
            self._whys.setdefault(name, why_undecided(record.properties, self._switched_off))
            self._modes.setdefault(name, record.properties.get(MODE_KEY, "apply, as nothing sets it"))

    def sentences(self) -> list[str]:
        """One for each reason, with the names of the applications."""
        return [_sentence(names, why) for why, names in (self.by_reason() | self._by_conduct()).items()]

    def _by_conduct(self) -> dict[str, list[str]]:
        """The names of the applications that loaded the plugin and gave it nothing to decide, by what they did."""
        named: dict[str, list[str]] = {}
        for name, why in self._whys.items():
            if not why and name not in self._without_executors | self._at_work:
                what = _NONE_DECIDED if name in self._ended else "no query has ended there"
                named.setdefault(f"{what}. The plugin was loaded, with {MODE_KEY} = {self._modes[name]}", []).append(
                    name
                )
        return named

    def by_reason(self) -> dict[str, list[str]]:
        """The names of the applications by the reason."""
        named: dict[str, list[str]] = {}
        for name, why in self._whys.items():
            if why := _NO_JAR if name in self._without_executors else why:
                named.setdefault(why, []).append(name)
        return named


class UnmetForce:
    """Values of ``spark.aqePlugin.force``, of an application or of its sessions, that are not allowed or that name what
    no query joined."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, None]] = {}
        self._decided: dict[str, set[str]] = {}

    def saw(self, name: str, record: Record) -> None:
        """Notes what a record says of the application whose log has this name."""
        if isinstance(record, JoinDecided):
            self._decided.setdefault(name, set()).add(record.decision.join_id)
        value = record.properties.get(FORCE_KEY) if isinstance(record, EnvironmentSet) else None
        value = record.force if isinstance(record, ExecutionStarted) else value
        if value:
            self._values.setdefault(name, {})[value] = None

    def sentences(self) -> list[str]:
        """One for each such value; none where no join was decided."""
        named: dict[str, list[str]] = {}
        for name, values in self._values.items():
            if decided := self._decided.get(name):
                for unmet in filter(None, (_unmet(value, decided) for value in values)):
                    named.setdefault(unmet, []).append(name)
        return [_sentence(names, unmet) for unmet, names in named.items()]


def _unmet(value: str, decided: Collection[str]) -> str:
    if problem := problem_of(FORCE_KEY, value):
        return f"{FORCE_KEY} = {value} is {problem}. {AS_IF_NOT_FORCED}"
    return not_forced(value, decided)


def _sentence(names: Sequence[str], what: str) -> str:
    return f"{_listed(names)}: {what.rstrip('.')}."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
