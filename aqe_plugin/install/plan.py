"""What to change in a conf to install the plugin, and to take it out again: conf in, changes out, no file touched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import PREFIX, problem_of
from aqe_plugin.conf.stores.port import TargetConf
from aqe_plugin.errors import ConflictError
from aqe_plugin.install.jars import jar_name, spark_line
from aqe_plugin.install.session import JARS_KEY, MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY

__all__ = ["DEFAULT_MODE", "Plan", "entries_of", "is_ours", "our_jars", "plan_install", "plan_uninstall", "purged"]

# A whole cluster is watched before its plans are changed.
DEFAULT_MODE = "observe"
_DEFAULT_PLUGINS_KEY = "spark.plugins.defaultList"


@dataclass(frozen=True, slots=True)
class Plan:
    """The conf as it would become, and each key that changes; without changes there is nothing to do."""

    after: TargetConf
    changes: tuple[Change, ...]


def plan_install(conf: TargetConf, jar: str | None, mode: str | None, name: str) -> Plan:
    """Adds the plugin after whatever is there; of an installed plugin it changes what differs, which may be nothing.

    Args:
        jar: path or URL, as Spark will find it; ``None`` where the plugin is loaded already, and the mode alone is set.
        mode: as asked for; ``None`` keeps what is set, and sets :data:`DEFAULT_MODE` when nothing is.
        name: what to call the file in an error.

    Raises:
        ConflictError: the conf is in a state that only its owner can sort out.
    """
    _require_one_plugin(conf, name)
    _require_known_mode(conf, name)
    loading: tuple[tuple[str, str, str], ...] = ()
    if jar is not None:
        _require_line(conf, jar, name)
        why = "puts the plugin's jar on every class path, after the jars that are there"
        loading = (
            (JARS_KEY, _with_jar(conf, jar, name), why),
            (PLUGINS_KEY, _with_plugin(conf), "loads the plugin, after the plugins that are there"),
        )
    wanted = (
        *loading,
        (MODE_KEY, mode or conf.get(MODE_KEY) or DEFAULT_MODE, "how far the plugin goes: off, observe or apply"),
    )
    changes = tuple(Change(key, conf.get(key), value, why) for key, value, why in wanted if conf.get(key) != value)
    for key, value, _ in wanted:
        conf = conf.with_value(key, value)
    return Plan(conf, changes)


def plan_uninstall(conf: TargetConf, installed: Mapping[str, Change]) -> TargetConf:
    """The conf without what was put in, and no less than that.

    A key that still has the value that install gave it gets back the value from before. In a list that was changed
    since, our entry alone goes. Without a record of an install, our entries go from both lists.

    Args:
        installed: what install changed, by key; empty when nobody wrote it down.

    Raises:
        ConflictError: it is written in a way that is not changed safely.
    """
    for key, is_entry in ((MODE_KEY, None), (PLUGINS_KEY, _is_plugin), (JARS_KEY, _is_jar)):
        change, present = installed.get(key), conf.get(key)
        if change is not None and present == change.new:
            conf = _with(conf, key, change.old)
        elif present is not None and is_entry is not None and any(map(is_entry, entries_of(present))):
            conf = _with(conf, key, _without(present, is_entry))
    for key, change in installed.items():
        if key not in (MODE_KEY, PLUGINS_KEY, JARS_KEY) and conf.get(key) == change.new:
            conf = _with(conf, key, change.old)
    return conf


def purged(conf: TargetConf) -> TargetConf:
    """The conf without the plugin's own keys, whoever set them.

    Raises:
        ConflictError: it is written in a way that is not changed safely.
    """
    for key in conf.items():
        if key.startswith(PREFIX):
            conf = conf.without(key)
    return conf


def is_ours(key: str) -> bool:
    """Whether a key is one that an install, an uninstall or its ``--purge`` changes."""
    return key in (PLUGINS_KEY, JARS_KEY) or key.startswith(PREFIX)


def entries_of(joined: str | None) -> list[str]:
    """The entries of a list as Spark reads it: separated by commas, empty ones left out."""
    return [entry.strip() for entry in (joined or "").split(",") if entry.strip()]


def our_jars(conf: TargetConf) -> list[str]:
    """The entries of ``spark.jars`` that are jars of ours."""
    return [entry for entry in entries_of(conf.get(JARS_KEY)) if jar_name(entry) is not None]


def _is_plugin(entry: str) -> bool:
    return entry == PLUGIN_CLASS


def _is_jar(entry: str) -> bool:
    return jar_name(entry) is not None


def _with(conf: TargetConf, key: str, value: str | None) -> TargetConf:
    return conf.without(key) if value is None else conf.with_value(key, value)


def _with_plugin(conf: TargetConf) -> str:
    present = conf.get(PLUGINS_KEY)
    return present if present and PLUGIN_CLASS in entries_of(present) else _appended(present, PLUGIN_CLASS)


def _with_jar(conf: TargetConf, jar: str, name: str) -> str:
    present, ours, wanted = conf.get(JARS_KEY), our_jars(conf), jar_name(jar)
    if len(ours) > 1:
        raise ConflictError(
            f"{name}: {JARS_KEY} lists {len(ours)} jars of aqe-plugin ({', '.join(ours)}). "
            "Leave the one that fits the cluster's Spark, or none, and try again."
        )
    if not ours:
        return _appended(present, jar)
    (listed,) = ours
    found = jar_name(listed)
    if found is not None and wanted is not None and found.line != wanted.line:
        raise ConflictError(
            f"{name}: {JARS_KEY} lists the jar for Spark {found.line} ({listed}), and the one to install is for Spark "
            f"{wanted.line}. If the cluster's Spark is now {wanted.line}, run `aqe-plugin uninstall` first; "
            f"if it is {found.line}, give --spark {found.line}."
        )
    if _location(listed) == _location(jar):
        return present or ""
    return ",".join(jar if entry.strip() == listed else entry for entry in (present or "").split(","))


def _appended(joined: str | None, entry: str) -> str:
    if not joined:
        return entry
    return joined + ("" if joined.endswith(",") else ",") + entry


def _without(joined: str, is_entry: Callable[[str], bool]) -> str | None:
    kept = [entry for entry in joined.split(",") if not is_entry(entry.strip())]
    return ",".join(kept) if any(entry.strip() for entry in kept) else None


def _location(entry: str) -> str:
    """A path, whether it is written as one or as a URL."""
    path = entry.removeprefix("file:")
    return "/" + path.lstrip("/") if path.startswith("//") else path


def _require_one_plugin(conf: TargetConf, name: str) -> None:
    listed = entries_of(conf.get(PLUGINS_KEY)).count(PLUGIN_CLASS)
    if listed > 1:
        raise ConflictError(
            f"{name}: {PLUGINS_KEY} names {PLUGIN_CLASS} {listed} times, and Spark would load it as often. "
            "Leave it there once and try again."
        )
    if PLUGIN_CLASS in entries_of(conf.get(_DEFAULT_PLUGINS_KEY)):
        raise ConflictError(
            f"{name}: {_DEFAULT_PLUGINS_KEY} names {PLUGIN_CLASS} already, and with {PLUGINS_KEY} Spark would load it "
            "twice. Take it out there, or leave the conf as it is."
        )


def _require_known_mode(conf: TargetConf, name: str) -> None:
    present = conf.get(MODE_KEY)
    if present is not None and problem_of(MODE_KEY, present):
        raise ConflictError(
            f"{name}: {MODE_KEY} is {present!r}, {problem_of(MODE_KEY, present)}. Mend or remove it and try again."
        )


def _require_line(conf: TargetConf, jar: str, name: str) -> None:
    named = jar_name(jar)
    if conf.spark_version is not None and named is not None and spark_line(conf.spark_version) != named.line:
        raise ConflictError(
            f"{name}: is for Spark {conf.spark_version}, and the jar {jar} is for Spark {named.line}. "
            f"Give --jar with the jar for Spark {spark_line(conf.spark_version)}."
        )
