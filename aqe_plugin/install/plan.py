"""The changes of a conf that install the plugin or take it out: values in, values out, no file touched.

ConflictError means that the conf cannot be changed safely, or that only its owner can resolve its state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.credentials import HIDDEN, value_without_secrets
from aqe_plugin.conf.keys import JARS_KEY, MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY, PREFIX, entries_of, problem_of
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConflictError
from aqe_plugin.install.jars import jar_name, spark_line

# A cluster observes before its plans are changed.
DEFAULT_MODE = "observe"
_MODES = {"off": "it does nothing", DEFAULT_MODE: "it decides and records, and changes no plan"}
_LISTS = (PLUGINS_KEY, JARS_KEY)
_DEFAULT_PLUGINS_KEY = "spark.plugins.defaultList"


def plan_install(
    conf: TargetConf, jar: str | None, mode: str | None, name: str
) -> tuple[TargetConf, tuple[Change, ...]]:
    """The conf after an install, and the keys that change.

    Adds the plugin after the entries that are there; an installed plugin is brought up to date.

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
        if conf.jars_elsewhere and jars != conf.get(JARS_KEY):
            raise ConflictError(
                f"{name}: {conf.jars_elsewhere} to {JARS_KEY} in sparkConf, separated by commas, and try again."
            )
        wanted[:0] = [
            (JARS_KEY, jars, "gives the plugin's jar to driver and executors, after any jars that are there"),
            (PLUGINS_KEY, _with_plugin(conf), "loads the plugin, after any plugins that are there"),
        ]
    changes = tuple(Change(key, conf.get(key), value, why) for key, value, why in wanted if conf.get(key) != value)
    for change in changes:
        conf = _with(conf, change.key, change.new)
    return conf, changes


def plan_uninstall(conf: TargetConf, installs: Sequence[Change]) -> TargetConf:
    """The conf without what the install put in.

    A key that still has the value of the install gets its old value back. From a list that was changed since, only our
    entries are removed, also when no install is recorded.

    Args:
        installs: what the installs changed, in order; empty when that is not recorded.
    """
    back, first = taken_back(conf, installs), {change.key: change for change in reversed(installs)}
    for key, is_our_entry in ((PLUGINS_KEY, _is_plugin), (JARS_KEY, _is_jar)):
        present = back.get(key)
        is_restored = key in first and conf.get(key) != present == first[key].old and HIDDEN not in (present or "")
        if present is not None and not is_restored and any(map(is_our_entry, entries_of(present))):
            back = _with(back, key, _without(present, is_our_entry))
    return back


def taken_back(conf: TargetConf, changes: Sequence[Change]) -> TargetConf:
    """The conf with each key as it was before its ``changes``, back to where somebody else changed it in between.

    Compared is what a journal has, so without credentials; what it does not have comes back as HIDDEN. Of a list, only
    the entries that a change added or removed, and plugins and jars of ours, are looked at, and go or come back.
    """
    for key, ones in _by_key(changes).items():
        present = value = conf.get(key)
        for change in reversed(ones):
            if _looked_at(value, change) != _looked_at(change.new, change):
                break
            value = _entries_before(value, change) if key in _LISTS and value != change.new else change.old
        if value != present:
            conf = _with(conf, key, value)
    return conf


def edited_since(conf: TargetConf, changes: Sequence[Change]) -> list[str]:
    """The keys that :func:`taken_back` cannot bring back to their values from before ``changes``."""
    back = taken_back(conf, changes)
    first = {key: ones[0] for key, ones in _by_key(changes).items()}
    return [key for key, one in first.items() if _looked_at(back.get(key), one) != _looked_at(one.old, one)]


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


def times_listed(conf: TargetConf) -> int:
    """How often ``spark.plugins`` names the plugin."""
    return entries_of(conf.get(PLUGINS_KEY)).count(PLUGIN_CLASS)


def _is_plugin(entry: str) -> bool:
    return entry == PLUGIN_CLASS


def _is_jar(entry: str) -> bool:
    return jar_name(entry) is not None


def _by_key(changes: Sequence[Change]) -> dict[str, list[Change]]:
    return {one.key: [change for change in changes if change.key == one.key] for one in changes}


def _looked_at(value: str | None, change: Change) -> object:
    """The part of a key's value that shows whether ``change`` is in force, as a journal has it."""
    if change.key not in _LISTS:
        return value and value_without_secrets(change.key, value)
    touched = {*entries_of(change.old)} ^ {*entries_of(change.new)}
    entries = {value_without_secrets(change.key, entry) for entry in entries_of(value)}
    return {entry for entry in entries if entry in touched or _is_plugin(entry) or _is_jar(entry)}


def _entries_before(value: str | None, change: Change) -> str | None:
    """The list with the entries that ``change`` removed in place of those that it added, else at the end."""
    old, new = entries_of(change.old), entries_of(change.new)
    came, back = [one for one in new if one not in old], [one for one in old if one not in new]
    if not came and not back:
        # Only credentials changed.
        came = back = [one for one in new if _is_jar(one)] or new
    kept: list[str] = []
    for entry in (value or "").split(","):
        if value_without_secrets(change.key, entry.strip()) not in came:
            kept.append(entry)
        elif back:
            kept, back = [*kept, *back], []
    joined = ",".join(kept)
    for entry in back:
        joined = _appended(joined, entry)
    return joined if entries_of(joined) else None


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
    if without_scheme(listed) == without_scheme(jar):
        return present or ""
    return ",".join(jar if entry.strip() == listed else entry for entry in (present or "").split(","))


def _appended(joined: str | None, entry: str) -> str:
    if not joined:
        return entry
    return joined + ("" if joined.endswith(",") else ",") + entry


def _without(joined: str, is_entry: Callable[[str], bool]) -> str | None:
    kept = [entry for entry in joined.split(",") if not is_entry(entry.strip())]
    return ",".join(kept) if any(entry.strip() for entry in kept) else None


def without_scheme(entry: str) -> str:
    """The path of an entry, also of a URL ``file:``."""
    path = entry.removeprefix("file:")
    return "/" + path.lstrip("/") if path.startswith("//") else path


def _require_one_plugin(conf: TargetConf, name: str) -> None:
    listed = times_listed(conf)
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
