"""The changes of a conf that install the plugin or take it out: values in, values out, no file touched.

ConflictError means that the conf cannot be changed safely, or that only its owner can resolve its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import JARS_KEY, MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY, PREFIX, entries_of, problem_of
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConflictError
from aqe_plugin.install.jars import jar_name, spark_line

# A cluster observes before its plans are changed.
DEFAULT_MODE = "observe"
_MODES = {"off": "it does nothing", DEFAULT_MODE: "it decides and records, and changes no plan"}
_LISTS = (PLUGINS_KEY, JARS_KEY)
_DEFAULT_PLUGINS_KEY = "spark.plugins.defaultList"


@dataclass(frozen=True, slots=True)
class Plan:
    """The conf after an install, and the keys that change."""

    after: TargetConf
    changes: tuple[Change, ...]


def plan_install(conf: TargetConf, jar: str | None, mode: str | None, name: str) -> Plan:
    """Adds the plugin after the entries that are there; an installed plugin is brought up to date.

    Args:
        jar: path or URL, as Spark will find it; ``None`` to set only the mode, where the plugin is loaded already.
        mode: ``None`` keeps the mode that is set, and otherwise sets :data:`DEFAULT_MODE`.
        name: the target's name in errors.
    """
    _require_one_plugin(conf, name)
    _require_known_mode(conf, name)
    chosen = mode or conf.get(MODE_KEY) or DEFAULT_MODE
    wanted = [(MODE_KEY, chosen, _MODES.get(chosen, "it changes plans"))]
    if jar is not None:
        _require_line(conf, jar, name)
        jars = _with_jar(conf, jar, name)
        if conf.jars_overridden and jars != conf.get(JARS_KEY):
            raise ConflictError(
                f"{name}: spec.deps.jars lists jars, which override {JARS_KEY}. "
                "Move them to spark.jars in sparkConf, separated by commas, and try again."
            )
        wanted[:0] = [
            (JARS_KEY, jars, "gives the plugin's jar to driver and executors, after any jars that are there"),
            (PLUGINS_KEY, _with_plugin(conf), "loads the plugin, after any plugins that are there"),
        ]
    changes = tuple(Change(key, conf.get(key), value, why) for key, value, why in wanted if conf.get(key) != value)
    for change in changes:
        conf = _with(conf, change.key, change.new)
    return Plan(conf, changes)


def plan_uninstall(conf: TargetConf, installed: Mapping[str, Change]) -> TargetConf:
    """The conf without what the install put in.

    A key that still has the value of the install gets its old value back. From a list that was changed since, only our
    entries are removed, also when no install is recorded.

    Args:
        installed: what the install changed, by key; empty when that is not recorded.
    """
    back = taken_back(conf, installed)
    for key, is_our_entry in ((PLUGINS_KEY, _is_plugin), (JARS_KEY, _is_jar)):
        present, is_restored = back.get(key), key in installed and conf.get(key) == installed[key].new
        if present is not None and not is_restored and any(map(is_our_entry, entries_of(present))):
            back = _with(back, key, _without(present, is_our_entry))
    return back


def taken_back(conf: TargetConf, changes: Mapping[str, Change]) -> TargetConf:
    """The conf with the old value of each key that still has the new one of its change; other values stay.

    In a list that was changed since, the entries that the change added or removed go or come back.
    """
    for key, change in changes.items():
        present = conf.get(key)
        if present == change.new:
            conf = _with(conf, key, change.old)
        elif present is not None and key in _LISTS:
            old, new = entries_of(change.old), entries_of(change.new)
            kept = _without(present, ({*new} - {*old}).__contains__)
            for entry in old:
                kept = kept if entry in (*new, *entries_of(kept)) else _appended(kept, entry)
            conf = _with(conf, key, kept)
    return conf


def edited_since(conf: TargetConf, changes: Mapping[str, Change]) -> list[str]:
    """The keys that :func:`taken_back` leaves as they are, because they have neither the old nor the new value."""
    return [key for key, one in changes.items() if key not in _LISTS and conf.get(key) not in (one.old, one.new)]


def purged(conf: TargetConf) -> TargetConf:
    """The conf without any of the plugin's own keys."""
    for key in conf.items():
        if key.startswith(PREFIX):
            conf = conf.without(key)
    return conf


def is_ours(key: str) -> bool:
    """Whether an install, an uninstall or its ``--purge`` may change a key."""
    return key in (PLUGINS_KEY, JARS_KEY) or key.startswith(PREFIX)


def our_jars(conf: TargetConf) -> list[str]:
    """The entries of ``spark.jars`` that are jars of ours."""
    return [entry for entry in entries_of(conf.get(JARS_KEY)) if _is_jar(entry)]


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
            "Keep the one that fits the cluster's Spark, or none, and try again."
        )
    if not ours:
        return _appended(present, jar)
    (listed,) = ours
    found = jar_name(listed)
    if found is not None and wanted is not None and found.line != wanted.line:
        raise ConflictError(
            f"{name}: {JARS_KEY} lists the jar for Spark {found.line} ({listed}), and the jar to install is for Spark "
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
    """The path, also of a URL."""
    path = entry.removeprefix("file:")
    return "/" + path.lstrip("/") if path.startswith("//") else path


def _require_one_plugin(conf: TargetConf, name: str) -> None:
    listed = entries_of(conf.get(PLUGINS_KEY)).count(PLUGIN_CLASS)
    if listed > 1:
        raise ConflictError(
            f"{name}: {PLUGINS_KEY} names {PLUGIN_CLASS} {listed} times, and Spark would load it as often. "
            "Keep one of them and try again."
        )
    if PLUGIN_CLASS in entries_of(conf.get(_DEFAULT_PLUGINS_KEY)):
        raise ConflictError(
            f"{name}: {_DEFAULT_PLUGINS_KEY} names {PLUGIN_CLASS} already, and with {PLUGINS_KEY} Spark would load it "
            "twice. Remove it there, or leave the conf as it is."
        )


def _require_known_mode(conf: TargetConf, name: str) -> None:
    present = conf.get(MODE_KEY)
    problem = "" if present is None else problem_of(MODE_KEY, present)
    if problem:
        raise ConflictError(f"{name}: {MODE_KEY} is {present!r}, {problem}. Correct or remove it and try again.")


def _require_line(conf: TargetConf, jar: str, name: str) -> None:
    named = jar_name(jar)
    if conf.spark_version is not None and named is not None and spark_line(conf.spark_version) != named.line:
        raise ConflictError(
            f"{name} is for Spark {conf.spark_version}, and the jar {jar} is for Spark {named.line}. "
            f"Give --jar with the jar for Spark {spark_line(conf.spark_version)}."
        )
