"""Installs the plugin into a file that holds a Spark conf, tunes it there, takes it out, and takes any of this back.

Each of these is first a :class:`Proposal`, which touches nothing and can be shown, and then ``carry_out``. Whatever
happens in between - a crash, a full disk, another writer - the file holds its old bytes or its new ones; what was cut
off is settled by the next ``carry_out``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timezone
from itertools import pairwise

from aqe_plugin.conf.changes import Change, changes_between, merged
from aqe_plugin.conf.keys import PREFIX, problem_of
from aqe_plugin.conf.stores.locate import Where, read_target, store_of
from aqe_plugin.conf.stores.port import ConfStore
from aqe_plugin.errors import AqePluginError, ConfError, ConflictError, JournalError, SessionError, WriteError
from aqe_plugin.install.journal import SCHEMA_VERSION, Action, Actor, Journal, Phase, Record, in_force, journal_of
from aqe_plugin.install.plan import is_ours, plan_install, plan_uninstall, purged
from aqe_plugin.install.session import JARS_KEY, PLUGINS_KEY
from aqe_plugin.machine.disk import digest, leftovers, lock, replace_file

__all__ = [
    "Proposal",
    "carry_out",
    "propose_install",
    "propose_rollback",
    "propose_tuning",
    "propose_uninstall",
]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would be done to a place; without a difference between ``before`` and ``after`` there is nothing to do.

    Attributes:
        before: what it holds, ``None`` when it holds nothing; ``after`` likewise.
        undoes: number of the change that a rollback takes back, with all that came after it.
    """

    action: Action
    store: ConfStore
    before: bytes | None
    after: bytes | None
    changes: tuple[Change, ...]
    undoes: int | None = None

    @property
    def nothing_to_do(self) -> bool:
        return self.before == self.after


def propose_install(where: Where, jar: str | None, mode: str | None) -> Proposal:
    """Installs ``jar`` into ``where``.

    Args:
        jar: ``None`` for a running session, which has it already or is refused.
        mode: ``None`` keeps the mode that is set; see ``install_plan``.

    Raises:
        TargetError: the file cannot be read.
        ConflictError: it is in a state that only its owner can sort out.
        SessionError: it is a session of an application without the plugin.
    """
    target = read_target(where)
    missing = target.store.why_not_loaded()
    if missing:
        raise SessionError(missing)
    plan = plan_install(target.conf, jar, mode, target.store.name)
    after = plan.after.render() if plan.changes else target.content
    return Proposal(Action.INSTALL, target.store, target.content, after, plan.changes)


def propose_uninstall(where: Where, purge: bool) -> Proposal:
    """Takes out of ``where`` what install put in; when nothing else changed since, its bytes are those from before.

    Raises:
        TargetError: the file cannot be read.
        ConflictError: it is written in a way that cannot be changed.
        JournalError: what was written down about it cannot be used.
    """
    target = read_target(where)
    journal = journal_of(target.store)
    installs = _last_installs(_settled(journal, target.content))
    if _alone(installs, target.content):
        start = journal.kept(installs[0].before)
        conf = target.store.parse(start)
    else:
        start = target.content
        installed = merged(tuple(change for record in installs for change in record.changes))
        conf = plan_uninstall(target.conf, installed)
    if purge:
        conf = purged(conf)
    after = None if start is None and not conf.items() else conf.render()
    changes = changes_between(target.conf.items(), conf.items(), "aqe-plugin had set it")
    whys = {PLUGINS_KEY: "the plugin is loaded no more", JARS_KEY: "its jar is needed no more"}
    if purge:
        whys |= {key: "--purge removes the plugin's own keys" for key in target.conf.items() if key.startswith(PREFIX)}
    told = tuple(replace(change, why=whys.get(change.key, change.why)) for change in changes)
    return Proposal(Action.UNINSTALL, target.store, target.content, after, told)


def propose_tuning(where: Where, values: Mapping[str, str | None], why: str) -> Proposal:
    """Sets keys of the plugin in ``where``; a key that the file lacked and gets back as ``None`` leaves no trace.

    Args:
        values: by key of the plugin, as they are to stand in the file; ``None`` takes the key out.
        why: a sentence, for each of them.

    Raises:
        ConfError: the plugin would not take a value, or the key is none of its own.
        TargetError: the file cannot be read.
        ConflictError: it is written in a way that is not changed safely.
    """
    target = read_target(where)
    conf = target.conf
    for key, value in values.items():
        problem = problem_of(key, value) if value else ""
        if not key.startswith(PREFIX):
            problem = f"no key of the plugin ({PREFIX}*)"
        if problem:
            raise ConfError(f"{key} = {value}: {problem}.")
        conf = conf.without(key) if value is None else conf.with_value(key, value)
    changes = changes_between(target.conf.items(), conf.items(), why)
    after = conf.render() if changes else target.content
    return Proposal(Action.TUNE, target.store, target.content, after, changes)


def propose_rollback(where: Where, force: bool, to: int | None = None) -> Proposal:
    """Makes ``where`` what it was before the last change that is in force, byte for byte.

    Args:
        force: also when somebody else changed it since; what they changed is kept as a backup, and goes.
        to: number of the change to go back to, which stays in force; 0 goes back before the first.

    Raises:
        ConflictError: it was changed since, and ``force`` is not given.
        JournalError: there is nothing to roll back, ``to`` is not in force, or the backup is gone.
        TargetError: the file cannot be read.
    """
    store = store_of(where)
    content, journal = store.read(), journal_of(store)
    changed = in_force(_settled(journal, content))
    if not changed:
        raise JournalError(f"{store.name}: nothing to roll back; aqe-plugin has no change of it in force.")
    last = changed[-1]
    if digest(content) != last.after and not force:
        differs = _difference(store, journal.kept(last.after), content)
        raise ConflictError(
            f"{store.name}: changed since {last.action.value} no. {last.number} by somebody else: {differs}. "
            "Rolling back would undo that too: --force does it and keeps the present file as a backup."
        )
    first = last if to is None else _first_after(to, changed, store.name)
    before = journal.kept(first.before)
    why = f"as before {first.action.value} no. {first.number}"
    changes = changes_between(_items(store, content), _items(store, before), why)
    return Proposal(Action.ROLLBACK, store, content, before, changes, first.number)


def carry_out(proposal: Proposal, actor: Actor) -> list[str]:
    """Does what was proposed, with a backup, and writes it down; gives back what it found to settle from before.

    Raises:
        ConflictError: the file changed since it was proposed, or another aqe-plugin is at it.
        WriteError: it could not be written, and is as it was.
    """
    store = proposal.store
    with _locked(store) as journal:
        settled = _settle(journal, store, actor)
        journal = journal_of(store)
        if store.read() != proposal.before:
            raise ConflictError(f"{store.name}: changed while this was being prepared. Look at it and try again.")
        store.rehearse(proposal.before, proposal.after)
        record = Record(
            schema_version=SCHEMA_VERSION,
            number=journal.next_number(),
            phase=Phase.BEGUN,
            action=proposal.action,
            at=_time(actor),
            who=actor.who,
            why=actor.why,
            file=store.name,
            before=digest(proposal.before),
            after=digest(proposal.after),
            changes=tuple(change for change in proposal.changes if is_ours(change.key)),
            undoes=proposal.undoes,
        )
        journal.keep(proposal.before)
        journal.keep(proposal.after)
        journal.write(record)
        try:
            store.replace(proposal.before, proposal.after)
        except (ConflictError, WriteError):
            journal.write(replace(record, phase=Phase.ABANDONED, at=_time(actor)))
            raise
        journal.write(replace(record, phase=Phase.DONE, at=_time(actor)))
    return settled


@contextmanager
def _locked(store: ConfStore) -> Iterator[Journal]:
    journal = journal_of(store)
    store.make_journal_folder()
    with lock(journal.folder / "lock"):
        yield journal_of(store)


def _settle(journal: Journal, store: ConfStore, actor: Actor) -> list[str]:
    """Writes down how a change ended that was cut off, and removes what its writer left."""
    said = []
    for left in (*store.leftovers(), *leftovers(journal.folder / "backups")):
        replace_file(left, None)
        said.append(f"removed {left.name}, which an interrupted writer had left")
    interrupted = journal.interrupted
    if interrupted is not None:
        (ended,) = (one for one in _settled(journal, store.read()) if one.number == interrupted.number)
        journal.write(replace(ended, at=_time(actor)))
        outcome = "had been carried out" if ended.phase is Phase.DONE else "had changed nothing"
        said.append(f"{ended.action.value} no. {ended.number} of {ended.at} was interrupted and {outcome}")
    return said


def _settled(journal: Journal, content: bytes | None) -> tuple[Record, ...]:
    """The records, with the one that was cut off ended as the file itself tells."""
    return tuple(
        replace(record, phase=Phase.DONE if digest(content) == record.after else Phase.ABANDONED)
        if record.phase is Phase.BEGUN
        else record
        for record in journal.records
    )


def _first_after(number: int, changed: list[Record], name: str) -> Record:
    """The oldest change to take back so that change ``number`` is the last one in force."""
    later = [record for record in changed if record.number > number]
    if number != 0 and number not in {record.number for record in changed}:
        known = ", ".join(str(record.number) for record in changed)
        raise JournalError(
            f"{name}: no change no. {number} is in force; those that are: {known}. 0 is before the first."
        )
    if not later:
        raise JournalError(f"{name}: change no. {number} is the last one in force; there is nothing to roll back.")
    return later[0]


def _last_installs(records: tuple[Record, ...]) -> list[Record]:
    """The installs and tunings since the last uninstall, oldest first."""
    found: list[Record] = []
    for record in in_force(records):
        found = [] if record.action is Action.UNINSTALL else [*found, record]
    return found


def _alone(installs: list[Record], content: bytes | None) -> bool:
    """Whether nobody but these installs changed the file since before the first of them."""
    seams = pairwise(installs)
    return bool(installs) and installs[-1].after == digest(content) and all(a.after == b.before for a, b in seams)


def _items(store: ConfStore, content: bytes | None) -> dict[str, str]:
    """What a file says, nothing when it cannot be read: it is to be replaced whatever it says."""
    try:
        return store.parse(content).items()
    except AqePluginError:
        return {}


def _difference(store: ConfStore, expected: bytes | None, found: bytes | None) -> str:
    """What differs, by key: values may be secrets."""
    if found is None:
        return "the file is gone"
    keys = [change.key for change in changes_between(_items(store, expected), _items(store, found), "")]
    return f"it differs in {', '.join(keys)}" if keys else "it differs in comments or layout"


def _time(actor: Actor) -> str:
    return actor.now().astimezone(timezone.utc).isoformat(timespec="seconds")
