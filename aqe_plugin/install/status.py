"""Whether the plugin is installed in a target, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.conf.keys import MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY, entries_of
from aqe_plugin.conf.stores.file_store import Where
from aqe_plugin.conf.stores.locate import Target, read_target
from aqe_plugin.errors import TargetError
from aqe_plugin.install.checks import (
    ADAPTIVE_KEY,
    AS_IF_OFF,
    NO_ADAPTIVE,
    adaptive_problem,
    conf_checks,
    set_keys,
    stops_decisions,
)
from aqe_plugin.install.controller import was_carried_out
from aqe_plugin.install.jars import JarStatus, jar_name
from aqe_plugin.install.journal import journal_of
from aqe_plugin.install.plan import our_jars


@dataclass(frozen=True, slots=True)
class SettingStatus:
    """A key of the plugin that is set; ``problem`` is empty when the plugin knows the key and allows its value."""

    key: str
    value: str
    problem: str


@dataclass(frozen=True, slots=True)
class InstallStatus:
    """What a target's conf says about the plugin.

    Attributes:
        installed: Spark will load the plugin, and a jar of ours is there for it; a session has loaded it.
        mode: as set, ``None`` for the plugin's default.
        problems: sentences on what keeps the plugin from working.
        remarks: sentences on what is seldom intended.
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


def status_of(where: Where) -> InstallStatus:
    """The status of the target ``where``."""
    target = read_target(where)
    conf = target.conf.items()
    listed = entries_of(conf.get(PLUGINS_KEY)).count(PLUGIN_CLASS)
    jars = tuple(_jar(entry, target.conf.runs_on_this_machine) for entry in our_jars(target.conf))
    problems = [check.finding for check in conf_checks(listed, jars) if not check.ok]
    settings = tuple(SettingStatus(key, value, problem) for key, value, problem in set_keys(conf))
    wrong = [setting.key for setting in settings if stops_decisions(setting.key, setting.problem)]
    adaptive = adaptive_problem(conf)
    adaptive_said = [f"{ADAPTIVE_KEY} = {conf[ADAPTIVE_KEY]}: {adaptive}."] if adaptive else []
    # Whoever switches it off may do without the plugin's joins; a value that Spark does not take serves nobody.
    is_remark = adaptive == NO_ADAPTIVE
    return InstallStatus(
        file=target.store.name,
        exists=target.content is not None,
        installed=listed == 1 and len(jars) == 1,
        plugin_listed=listed > 0,
        jars=jars,
        mode=conf.get(MODE_KEY),
        settings=settings,
        problems=(*problems, *([] if is_remark else adaptive_said)),
        remarks=(
            *target.conf.remarks(),
            *([f"{', '.join(wrong)}: not allowed. {AS_IF_OFF}"] if wrong else []),
            *(adaptive_said if is_remark else []),
            *_interruptions(target),
        ),
    )


def _jar(entry: str, on_this_machine: bool) -> JarStatus:
    name = jar_name(entry)
    assert name is not None
    local = on_this_machine and (":" not in entry or entry.startswith("file:"))
    return JarStatus(entry, name.line, name.version, Path(entry.removeprefix("file:")).is_file() if local else None)


def _interruptions(target: Target) -> list[str]:
    """What writers that were killed left behind."""
    found = [
        f"{left.name} was left by an interrupted writer; the next change removes it."
        for left in target.store.leftovers()
    ]
    try:
        journal = journal_of(target.store)
    except TargetError as error:
        # Only its owner may read it, and others may look at the conf.
        return [*found, f"{error} So whether a change was interrupted is not known."]
    cut_off = journal.interrupted
    if cut_off is not None:
        state = "new" if was_carried_out(cut_off, target.store, target.content) else "old"
        found.append(
            f"{cut_off.action.value} no. {cut_off.number} of {cut_off.at} was interrupted; the file holds the {state} "
            "state, and the next change records that."
        )
    if journal.damaged_lines:
        found.append(journal.damage)
    return found
