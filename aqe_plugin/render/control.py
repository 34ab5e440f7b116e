"""Proposals, states and journals as tables, JSON, or a diff of the file.

A conf and a journal may hold anything: all of it is shown as plain text with control characters made visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import unified_diff

from rich.console import Console
from rich.text import Text

from aqe_plugin.conf.changes import Change, as_kept
from aqe_plugin.conf.credentials import HIDDEN, conf_without_secrets, without_credentials
from aqe_plugin.events.json_values import encode
from aqe_plugin.install.controller import Proposal
from aqe_plugin.install.journal import Journal, undone
from aqe_plugin.render.terminal import drawn_table, fits, hanging, visible

_DIGEST_SHOWN = 12
_HEADER_LINES = 2
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_ENDS = {
    "done": ("done", "green"),
    "abandoned": ("not done", "yellow"),
    "begun": ("interrupted", "bold red"),
}


def diff_of(proposal: Proposal) -> list[str]:
    """The lines of a unified diff of the file, with CRLF made visible where it is, and secrets hidden."""
    texts = [_lines(content) for content in (proposal.before, proposal.after)]
    before, after = ([visible(line) for line in lines] for lines in texts)
    old, new = (
        "/dev/null" if content is None else visible(proposal.store.name)
        for content in (proposal.before, proposal.after)
    )
    # Secrets are hidden in the whole text and not in a hunk, which may begin amid an entry of several lines.
    old_shown, new_shown = ([visible(line) for line in conf_without_secrets(lines)] for lines in texts)
    at_before = at_after = 0
    shown: list[str] = []
    for number, line in enumerate(unified_diff(before, after, old, new, lineterm="")):
        hunk = _HUNK.match(line)
        if number < _HEADER_LINES or hunk is not None:
            if hunk is not None:
                at_before, at_after = int(hunk[1]) - 1, int(hunk[2]) - 1
            shown.append(without_credentials(line))
            continue
        is_old, is_new = line[0] != "+", line[0] != "-"
        seen = {*([old_shown[at_before]] if is_old else []), *([new_shown[at_after]] if is_new else [])}
        # A line that both have may belong to a secret on one side alone.
        shown.append(line[0] + (seen.pop() if len(seen) == 1 else HIDDEN))
        at_before, at_after = at_before + is_old, at_after + is_new
    return shown


def print_changes(changes: Iterable[Change], console: Console) -> None:
    """Each key with its old and new value and why: a table where that fits, else a paragraph each."""
    table, kept = drawn_table("key", "old", "new", "why"), list(map(as_kept, changes))
    for shown in kept:
        table.add_row(*(_cell(text) for text in (shown.key, shown.old, shown.new, shown.why)))
    if fits(table, console, console.width):
        console.print(table)
        return
    for shown in kept:
        console.print(Text(f"  {visible(shown.key)}"), soft_wrap=True)
        for name, cell in (("old", _cell(shown.old)), ("new", _cell(shown.new)), ("why", _cell(shown.why))):
            print_row(f"  {name}", cell.plain, 7, console)


def print_proposal(proposal: Proposal, written: bool, console: Console) -> None:
    """The target, whether it was ``written``, and its changes."""
    outcome = "written" if written else "NOTHING WRITTEN (--yes writes)"
    console.print(Text(f"{proposal.action} {visible(proposal.store.name)}: {outcome}", style="bold"))
    if proposal.before is None and proposal.store.note_when_new:
        console.print(Text(f"  {proposal.store.note_when_new}"))
    if proposal.changes:
        print_changes(proposal.changes, console)
    else:
        console.print(Text("  comments or layout alone"))


def proposal_json(proposal: Proposal, applied: bool) -> dict[str, object]:
    """The proposal, and whether it was ``applied``."""
    return {
        "action": proposal.action,
        "file": proposal.store.name,
        "nothingToDo": proposal.nothing_to_do,
        "applied": applied,
        "changes": [encode(as_kept(change)) for change in proposal.changes],
    }


def print_history(journal: Journal, console: Console) -> None:
    """A paragraph for each change, oldest first, in which no key and no time is broken however narrow it is."""
    over = undone(journal)
    for record in journal.records:
        outcome, style = ("undone since", "yellow") if record.number in over else _ENDS[record.phase]
        of = "" if record.undoes is None else f" of no. {record.undoes}"
        heading = Text(f"no. {record.number}  {record.action}{of}, ").append(outcome, style=style)
        console.print(heading.append(f"  {visible(record.at)}  {visible(record.who)}"), soft_wrap=True)
        rows = [("file", f"{_digest(record.before)} -> {_digest(record.after)}")]
        rows += [_change_in_words(change) for change in record.changes]
        rows += [("why", visible(record.why))] if record.why else []
        for name, value in rows:
            print_row(name, value, 8, console)


def print_row(name: str, value: str, names: int, console: Console) -> None:
    """A name in a column of so many characters, and its value beside it."""
    console.print(
        Text(f"  {name:<{names}}", style="dim").append(Text(hanging(value, names + 2, console))), soft_wrap=True
    )


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "surrogateescape")
    *whole, rest = text.split("\n")
    return [*whole, *([f"{rest} (no end of line)"] if rest else [])]


def _cell(text: str | None) -> Text:
    return Text("(not set)", style="dim") if text is None else Text(visible(text))


def _digest(name: str | None) -> str:
    return "(absent)" if name is None else name[:_DIGEST_SHOWN]


def _change_in_words(change: Change) -> tuple[str, str]:
    return "removed" if change.new is None else "added" if change.old is None else "changed", visible(change.key)
