"""Whether the plugin is installed in a file, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.conf.canary import Canary, canary_in
from aqe_plugin.conf.keys import CANARY, PREFIX, problem_of
from aqe_plugin.conf.stores.locate import Target, Where, read_target
from aqe_plugin.install.jars import jar_name
from aqe_plugin.install.journal import Journal, journal_of
from aqe_plugin.install.plan import entries_of, our_jars
from aqe_plugin.install.session import MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY
from aqe_plugin.machine.disk import digest

__all__ = ["InstallStatus", "JarStatus", "SettingStatus", "status_of"]


@dataclass(frozen=True, slots=True)
class JarStatus:
    """A jar of ours that the conf names; ``exists`` is ``None`` when it is not on this machine to look at."""

    location: str
    line: str
    version: str
    exists: bool | None


@dataclass(frozen=True, slots=True)
class SettingStatus:
    """One of the plugin's own keys; ``problem`` is empty for a value that the plugin takes."""

    key: str
    value: str
    problem: str


@dataclass(frozen=True, slots=True)
class InstallStatus:
    """What one file says about the plugin.

    Attributes:
        installed: Spark will load the plugin, and a jar of ours is there for it; of a session, that it has loaded it.
        mode: as it is set, ``None`` when it is not and the plugin's default holds.
        problems: sentences on what keeps it from working.
        remarks: sentences on what is seldom meant.
        canary: what a share of the applications tries, ``None`` when nothing is tried.
    """

    file: str
    exists: bool
    installed: bool
    plugin_listed: bool
    jars: tuple[JarStatus, ...]
    mode: str | None
    settings: tuple[SettingStatus, ...]
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    canary: Canary | None = None


def status_of(where: Where) -> InstallStatus:
    """What the file or object ``where`` says.

    Raises:
        TargetError: it cannot be read.
        ConflictError: it is written in a way that is not read safely.
        JournalError: what was written down about it is of a newer version.
    """
    target = read_target(where)
    listed = entries_of(target.conf.get(PLUGINS_KEY)).count(PLUGIN_CLASS)
    jars = tuple(_jar(entry, target.conf.runs_on_this_machine) for entry in our_jars(target.conf))
    settings = tuple(
        SettingStatus(key, value, problem_of(key, value))
        for key, value in sorted(target.conf.items().items())
        if key.startswith(PREFIX)
    )
    missing = target.store.why_not_loaded()
    return InstallStatus(
        file=target.store.name,
        exists=target.content is not None,
        installed=(listed == 1 and len(jars) == 1) if missing is None else not missing,
        plugin_listed=listed > 0 or missing == "",
        jars=jars,
        mode=target.conf.get(MODE_KEY),
        settings=settings,
        problems=_problems(listed, jars) + ((missing,) if missing else ()),
        remarks=target.conf.remarks()
        + _unused_canary(settings, target)
        + _left_from_before(target, journal_of(target.store)),
        canary=canary_in(target.conf.items()),
    )


def _jar(entry: str, on_this_machine: bool) -> JarStatus:
    name = jar_name(entry)
    assert name is not None
    local = on_this_machine and (":" not in entry or entry.startswith("file:"))
    return JarStatus(entry, name.line, name.version, Path(entry.removeprefix("file:")).is_file() if local else None)


def _problems(listed: int, jars: tuple[JarStatus, ...]) -> tuple[str, ...]:
    found = []
    if listed > 1:
        found.append(f"{PLUGINS_KEY} names {PLUGIN_CLASS} {listed} times. Leave it there once.")
    if len(jars) > 1:
        found.append("spark.jars lists several jars of aqe-plugin. Leave the one that fits the cluster's Spark.")
    if listed and not jars:
        found.append(
            "spark.plugins names the plugin and spark.jars has no jar of it: unless the jar is in Spark's own jars "
            "folder, every application fails to start. aqe-plugin install adds it."
        )
    if jars and not listed:
        found.append("the jar is listed and spark.plugins does not name the plugin. aqe-plugin install adds it.")
    found += [
        f"{jar.location} does not exist: every application fails to start. Put it back, or give install another --jar."
        for jar in jars
        if jar.exists is False and listed
    ]
    return tuple(found)


def _unused_canary(settings: tuple[SettingStatus, ...], target: Target) -> tuple[str, ...]:
    keys = [setting for setting in settings if setting.key.startswith(CANARY)]
    if not keys or canary_in(target.conf.items()) is not None:
        return ()
    wrong = next((key.key for key in keys if key.problem), None)
    why = f"{wrong} is not allowed" if wrong else "a share above 0, a value to try, or what a value replaces is missing"
    return (f"there are keys of a canary, and no application tries anything: {why}.",)


def _left_from_before(target: Target, journal: Journal) -> tuple[str, ...]:
    found = [
        f"{left.name} was left by an interrupted writer; the next change removes it."
        for left in target.store.leftovers()
    ]
    cut_off = journal.interrupted
    if cut_off is not None:
        state = "new" if digest(target.content) == cut_off.after else "old"
        found.append(
            f"{cut_off.action.value} no. {cut_off.number} of {cut_off.at} was interrupted; the file holds the {state} "
            "state, and the next change writes that down."
        )
    if journal.damaged_lines:
        lines = ", ".join(str(number) for number in journal.damaged_lines)
        found.append(f"{journal.folder}/journal.jsonl: damaged lines left out: {lines}.")
    return tuple(found)
