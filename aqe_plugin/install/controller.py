"""Installs the plugin into a target, tunes it there, uninstalls it, and rolls any of this back.

Each change is first a :class:`Proposal`, which touches nothing and can be shown, and then ``carry_out``. Through a
crash, a full disk or another writer, the target holds its old bytes or its new ones; the next ``carry_out`` records how
an interrupted change ended. A function here that reads the target raises TargetError when it cannot be read, and
ConflictError when it is written in a way that cannot be changed safely or only its owner can resolve its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from aqe_plugin.conf.changes import Change, as_kept, changes_between
from aqe_plugin.conf.credentials import HIDDEN
from aqe_plugin.conf.keys import (
    CANARY_SET,
    CANARY_SHARE,
    JARS_KEY,
    PLUGINS_KEY,
    PREFIX,
    problem_of_change,
    sentence,
)
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import ConfError, ConflictError, StateError, TargetError, WriteError
from aqe_plugin.install.differences import difference, how_to_keep, items_in
from aqe_plugin.install.journal import (
    SCHEMA_VERSION,
    Action,
    Actor,
    Journal,
    Record,
    in_force,
    journal_of,
    of_last_rollout,
    went_back,
)
from aqe_plugin.install.plan import edited_since, is_ours, plan_install, plan_uninstall, purged, taken_back
from aqe_plugin.machine.disk import digest, leftovers, replace_file


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of a target that can be shown or carried out.

    Attributes:
        before: the present content, ``None`` when there is none; ``after`` likewise.
        undoes: number of the first change that a rollback undoes; it undoes all later ones too.
        step: the id of the rollout's step that makes the change, if one does.
    """

    action: Action
    store: ConfStore
    before: bytes | None
    after: bytes | None
    changes: tuple[Change, ...]
    undoes: int | None = None
    step: str | None = None

    @property
    def nothing_to_do(self) -> bool:
        return self.before == self.after


def propose_install(store: ConfStore, jar: str, mode: str | None) -> Proposal:
    """Installs the plugin with ``jar``.

    Args:
        mode: ``None`` keeps the mode that is set; see :func:`plan_install`.
    """
    target = read_target(store)
    conf, changes = plan_install(target.conf, jar, mode, store.name)
    return Proposal("install", store, target.content, conf.render() if changes else target.content, changes)


def propose_uninstall(store: ConfStore, purge: bool) -> Proposal:
    """Takes out what install put in; if nobody else changed the target since, that restores its bytes.

    Args:
        purge: remove the plugin's own keys too, whoever set them.

    Raises:
        ConflictError: an old value had credentials, which no journal has.
        StateError: its journal cannot be used.
    """
    target = read_target(store)
    journal = journal_of(target.store)
    installs = _last_installs(_settled(journal, target.store, target.content))
    if target.store.keeps_texts and _only_ours(installs, target.content):
        start = journal.kept(installs[0].before)
        conf = target.store.parse(start)
    else:
        start = None if _made_it(installs, target.store) else target.content
        conf = plan_uninstall(target.conf, _changes_of(installs))
        _require_credentials(changes_between(target.conf.items(), conf.items(), ""), journal, target.store)
    if purge:
        conf = purged(conf)
    after = None if start is None and not conf.items() else conf.render()
    whys = {PLUGINS_KEY: "the plugin is no longer loaded", JARS_KEY: "its jar is no longer needed"}
    why = "--purge removes the plugin's own keys" if purge else "aqe-plugin had set it"
    changes = changes_between(target.conf.items(), conf.items(), why)
    changes = tuple(replace(change, why=whys.get(change.key, why)) for change in changes)
    return Proposal("uninstall", target.store, target.content, after, changes)


def keys_left(proposal: Proposal) -> dict[str, str]:
    """The plugin's own keys that are in the target after the change, with their values."""
    after = proposal.store.parse(proposal.after).items()
    return {key: value for key, value in after.items() if key.startswith(PREFIX)}


def propose_tuning(store: ConfStore, values: Mapping[str, str | None], why: str) -> Proposal:
    """Sets keys of the plugin; setting an absent key and then removing it restores the bytes.

    Args:
        values: by key, as written in a conf; ``None`` removes the key.
        why: a sentence for each of the changes.

    Raises:
        ConfError: a value is not allowed, or a key is not one of the plugin's.
    """
    target = read_target(store)
    conf = target.conf
    for key, value in values.items():
        problem = problem_of_change(key, value)
        if problem:
            raise ConfError(sentence(f"{key} = {value}: {problem}"))
        conf = conf.without(key) if value is None else conf.with_value(key, value)
    changes = changes_between(target.conf.items(), conf.items(), why)
    after = conf.render() if changes else target.content
    return Proposal("rollout", target.store, target.content, after, changes)


def propose_rollback(store: ConfStore, force: bool, to: int | None = None) -> Proposal:
    """Restores the target from before the last change in force; steps of a rollout are one change.

    Where earlier texts are kept, byte for byte. Elsewhere each key of the change gets its old value back, and what
    somebody else changed stays.

    A canary that is over is not restored, since nobody watches it: what was changed while it ran is undone too. Nor is
    one that something else took out of the target.

    Args:
        force: undo changes of somebody else too; a backup keeps the present file. Where no texts are kept, only keys
            that still are as the change left them go back.
        to: number of the change to go back to, which stays in force; 0 goes back before the first.

    Raises:
        ConflictError: somebody else changed the target since, and ``force`` is not given; or an old value had
            credentials, which no journal has.
        StateError: there is nothing to roll back, ``to`` is not in force or has a canary that is over, or the backup
            is missing.
    """
    content, journal = store.read(), journal_of(store)
    changed = in_force(_settled(journal, store, content))
    if not changed:
        made = "" if store.keeps_texts else f" made on this machine (journal: {journal.folder})"
        raise StateError(f"{store.name}: there is nothing to roll back; no change of aqe-plugin{made} is in force.")
    last = changed[-1]
    if store.keeps_texts and digest(content) != last.after and not force:
        raise ConflictError(
            f"{store.name}: changed since {last.action} no. {last.number} by somebody else: "
            f"{difference(store, journal.kept(last.after), content)}. "
            "A rollback would undo that too: --force does so and keeps the present file as a backup. "
            f"{how_to_keep(store, journal.kept(last.after), content)}"
        )
    first = of_last_rollout(changed)[0] if to is None else _first_after(to, changed, store.name)

    def since(earliest: Record) -> list[Record]:
        return [one for one in changed if one.number >= earliest.number]

    def as_before(earliest: Record) -> bytes | None:
        """What the target held before this change; where no texts are kept, what it holds without the changes since."""
        if store.keeps_texts:
            return journal.kept(earliest.before)
        conf = taken_back(store.parse(content), _changes_of(since(earliest)))
        return None if _made_it(since(earliest), store) and not conf.items() else conf.render()

    canary = _canary_before(first, changed)
    if canary is not None and not _has_canary(items_in(store, as_before(first))):
        canary = None
    is_gone = not _has_canary(items_in(store, content))
    is_over = is_gone or any(map(went_back, since(first)))
    if canary is not None and to is not None and is_over:
        known = ", ".join(str(record.number) for record in changed)
        earlier = next((one.number for one in reversed(changed) if one.number < canary.number), 0)
        raise StateError(
            f"{store.name}: change no. {to} has a canary that is over, and nobody would watch it; "
            f"in force: {known}. --to {earlier} goes back before the canary."
        )
    if canary is not None and to is None and is_gone:
        first = canary
    edited = [] if store.keeps_texts else edited_since(store.parse(content), _changes_of(since(first)))
    if edited and not force:
        others = _by_others(store)
        raise ConflictError(
            f"{store.name}: {', '.join(edited)}: changed since by somebody else{others}, so this machine cannot take "
            f"back its own value. {'Roll back there, or set' if others else 'Set'} the old value (aqe-plugin history) "
            "by hand. --force leaves these keys as they are, and takes back the others."
        )
    before = as_before(first)
    why = f"as before {first.action} no. {first.number}"
    changes = changes_between(items_in(store, content), items_in(store, before), why)
    if not store.keeps_texts:
        _require_credentials(changes, journal, store)
    return Proposal("rollback", store, content, before, changes, first.number)


def carry_out(proposal: Proposal, actor: Actor) -> list[str]:
    """Makes the change, with a backup and a record; returns a sentence for each interrupted change it found.

    Raises:
        ConflictError: the target changed since the proposal, or another aqe-plugin is changing it.
        WriteError: the target could not be written, and is unchanged.
    """
    with proposal.store.locked():
        return carry_out_held(proposal, actor)


def carry_out_held(proposal: Proposal, actor: Actor) -> list[str]:
    """As ``carry_out``, for whoever holds the target."""
    store = proposal.store
    settled = settle_held(store, actor)
    journal = journal_of(store)
    if store.read() != proposal.before:
        raise ConflictError(f"{store.name}: somebody else changed it in the meantime. Look at it and try again.")
    store.rehearse(proposal.before, proposal.after)
    record = Record(
        schema_version=SCHEMA_VERSION,
        number=journal.next_number(),
        phase="begun",
        action=proposal.action,
        at=actor.time(),
        who=actor.who,
        why=actor.why,
        file=store.name,
        before=digest(proposal.before),
        after=digest(proposal.after),
        changes=tuple(as_kept(change) for change in proposal.changes if is_ours(change.key)),
        undoes=proposal.undoes,
        step=proposal.step,
        mode=store.mode,
    )
    had = next((one.mode for one in reversed(journal.records) if one.mode is not None), None)
    for text in (proposal.before, proposal.after) if store.keeps_texts else ():
        journal.keep(text)
    journal.write(record)
    try:
        store.replace(proposal.before, proposal.after, actor.who, had)
    except (ConflictError, WriteError):
        journal.write(replace(record, phase="abandoned", at=actor.time()))
        raise
    journal.write(replace(record, phase="done", at=actor.time()))
    return settled


def settle_held(store: ConfStore, actor: Actor) -> list[str]:
    """Records how an interrupted change ended, and removes the temporary files of its writer; a sentence for each.

    For whoever holds the target.
    """
    journal = journal_of(store)
    reports = []
    for left in (*store.leftovers(), *leftovers(journal.folder / "backups")):
        replace_file(left, None)
        reports.append(f"removed {left.name}, which an interrupted writer had left")
    interrupted = journal.interrupted
    if interrupted is not None:
        (ended,) = (one for one in _settled(journal, store, store.read()) if one.number == interrupted.number)
        journal.write(replace(ended, at=actor.time()))
        outcome = "had been carried out" if ended.phase == "done" else "had changed nothing"
        reports.append(f"{ended.action} no. {ended.number} of {ended.at} was interrupted and {outcome}")
    return reports


def was_carried_out(record: Record, store: ConfStore, content: bytes | None) -> bool:
    """Whether ``content`` shows that an interrupted change reached the target, which others may have edited since."""
    if digest(content) in (record.before, record.after):
        return digest(content) == record.after
    items = items_in(store, content)
    found = (as_kept(replace(change, new=items.get(change.key))) for change in record.changes)
    return any(seen.new == change.new != change.old for seen, change in zip(found, record.changes, strict=True))


def _settled(journal: Journal, store: ConfStore, content: bytes | None) -> tuple[Record, ...]:
    """The records; the content shows how an interrupted one ended."""
    return tuple(
        replace(record, phase="done" if was_carried_out(record, store, content) else "abandoned")
        if record.phase == "begun"
        else record
        for record in journal.records
    )


def _first_after(number: int, changed: list[Record], name: str) -> Record:
    """The oldest change to undo so that change ``number`` is the last one in force."""
    known = [record.number for record in changed]
    if number not in (0, *known):
        raise StateError(
            f"{name}: change no. {number} is not in force; in force: {', '.join(map(str, known))}. "
            "0 goes back before the first."
        )
    later = next((record for record in changed if record.number > number), None)
    if later is None:
        raise StateError(f"{name}: change no. {number} is the last one in force; there is nothing to roll back.")
    return later


def changed_elsewhere(store: ConfStore) -> str:
    """A sentence on who else changed by aqe-plugin what the target holds, on other machines; empty for nobody."""
    try:
        by = _by_others(store)
    except (TargetError, StateError) as error:
        # Only its owner may read the journal, and others may look at the conf.
        return f"{store.name}: changed{_in_words(store.changed_by)}. Whether on this machine is not known: {error}"
    return by and (
        f"{store.name}: changed{by}. Journal and rollouts of that are not in {store.journal_folder}: roll it back, and "
        "go on with its rollout, on that machine."
    )


def _by_others(store: ConfStore) -> str:
    """Who changed the target by aqe-plugin and is not in its journal here, and when."""
    if not store.changed_by:
        return ""
    known = {store.noted_as(one.who) for one in journal_of(store).records}
    return _in_words({who: at for who, at in store.changed_by.items() if who not in known})


def _in_words(changed_by: Mapping[str, str]) -> str:
    return "".join(f" by {who} at {at}" for who, at in changed_by.items())


def _changes_of(records: list[Record]) -> list[Change]:
    return [change for record in records for change in record.changes]


def _require_credentials(changes: tuple[Change, ...], journal: Journal, store: ConfStore) -> None:
    """Makes sure that values which come from a journal are whole: it has no credentials."""
    lost = ", ".join(one.key for one in changes if (one.new or "").count(HIDDEN) > (one.old or "").count(HIDDEN))
    if lost:
        raise ConflictError(
            f"{store.name}: the journal ({journal.folder}) has no credentials, so the old value of {lost} cannot be "
            f"written. Set {lost} by hand as it was (aqe-plugin history), with the credentials, and try again."
        )


def _made_it(changed: list[Record], store: ConfStore) -> bool:
    """Whether the first of these changes made the place, of which no text is kept."""
    return bool(changed) and not store.keeps_texts and changed[0].before is None


def _canary_before(first: Record, changed: list[Record]) -> Record | None:
    """The change that began the last canary before ``first``, if there was one."""
    earlier = (one for one in reversed(changed) if one.number < first.number)
    return next((one for one in earlier if any(_begins_canary(change) for change in one.changes)), None)


def _has_canary(items: Mapping[str, str]) -> bool:
    """Whether some applications try values: a share alone, which `uninstall` leaves if somebody edited it, does not."""
    return any(key.startswith(CANARY_SET) for key in items)


def _begins_canary(change: Change) -> bool:
    return change.key == CANARY_SHARE and change.old is None and change.new is not None


def _last_installs(records: tuple[Record, ...]) -> list[Record]:
    """The installs and tunings since the last uninstall, oldest first."""
    found: list[Record] = []
    for record in in_force(records):
        found = [] if record.action == "uninstall" else [*found, record]
    return found


def _only_ours(installs: list[Record], content: bytes | None) -> bool:
    """Whether only these installs changed the target since the first of them."""
    unbroken = all(earlier.after == later.before for earlier, later in pairwise(installs))
    return bool(installs) and unbroken and installs[-1].after == digest(content)
