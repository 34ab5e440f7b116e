"""Findings and rollouts as tables, JSON, or lines of a conf."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from rich.console import Console
from rich.text import Text

from aqe_plugin.conf.changes import Change
from aqe_plugin.events.json_values import encode
from aqe_plugin.render.control import print_changes, print_row
from aqe_plugin.render.terminal import drawn_table, visible
from aqe_plugin.tuning.groups import written
from aqe_plugin.tuning.recommendation import Evidence, Finding, Limits, Recommendation, violations
from aqe_plugin.tuning.rollout.ledger import ASKED, RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring

_RING_STYLES = {Ring.SETTLED: "green", Ring.ROLLED_BACK: "bold red"}


def print_findings(findings: Sequence[Finding], limits: Limits, console: Console) -> None:
    """A row for each key: old and new value, and for the first of a group why, evidence, and the limits it exceeds."""
    table = drawn_table("group", "key", "old", "new", "why", "evidence", "verdict")
    for finding in findings:
        made = finding.recommendation
        if made is None:
            table.add_row(finding.group, "", "", "", Text(finding.reason, style="dim"), "", "")
            continue
        stopped = violations(made, limits)
        verdict = Text("; ".join(stopped), style="yellow") if stopped else Text("passes", style="green")
        for number, change in enumerate(made.changes):
            values = (change.key, written(change.key, change.old), written(change.key, change.new))
            reasons = (made.why, _in_words(made.evidence, made.risk.confidence), verdict) if number == 0 else ()
            table.add_row(finding.group if number == 0 else "", *values, *reasons)
    console.print(table)


def finding_json(finding: Finding, limits: Limits, chosen: Recommendation | None) -> dict[str, object]:
    """The finding, the limits that it exceeds, and whether it is the ``chosen`` one."""
    made = finding.recommendation
    stopped = [] if made is None else list(violations(made, limits))
    return {
        **encode(finding),
        "passes": made is not None and not stopped,
        "stoppedBy": stopped,
        "chosen": made is not None and made == chosen,
    }


def conf_lines(chosen: Recommendation) -> list[str]:
    """Lines of a ``spark-defaults.conf``."""
    return [f"{change.key} {written(change.key, change.new)}" for change in chosen.changes]


def print_rollout_step(step: RolloutStep, before: Ring | None, changes: Sequence[Change], console: Console) -> None:
    """The ring before and after the step, why, and ``changes``: what is rolled out, or what goes back."""
    after = _in_plain_words(step.ring)
    way = after if before in (None, step.ring) else f"{_in_plain_words(before)} -> {after}"
    console.print(Text(f"rollout no. {step.number}{_of(step)}: {way}", style="bold"))
    console.print(Text(f"  {visible(step.why)}"))
    if step.canary_share is not None:
        console.print(Text(f"  canary: {step.canary_share:.3g} of the applications"))
    if changes:
        print_changes(changes, console)


def rollout_step_json(step: RolloutStep, before: Ring | None, done: bool) -> dict[str, object]:
    """The step, the ring before it, and whether it was taken."""
    return {**encode(step), "before": None if before is None else before.value, "applied": done}


def in_future(last: RolloutStep, folder: str) -> str:
    """A warning about ``last``, a step dated in the future, whose ledger is in ``folder``."""
    at = datetime.fromtimestamp(last.at_millis / 1000, timezone.utc).isoformat(timespec="seconds")
    return (
        f"rollout no. {last.number}: its last step is dated {at}, in the future, and only runs after it count. If this "
        "machine's clock is behind, set it. If the clock was ahead when the step was made, begin again: aqe-plugin "
        f"rollback, then move rollouts.jsonl in {visible(folder)} away."
    )


def print_rollouts(steps: Sequence[RolloutStep], taken_back: str, console: Console) -> None:
    """A paragraph for each step of each rollout, oldest first; no key is wrapped, however narrow the terminal.

    Args:
        taken_back: why the last one is no longer in force, although no step says so; else empty.
    """
    for step in steps:
        at = datetime.fromtimestamp(step.at_millis / 1000, timezone.utc).isoformat(timespec="seconds")
        ring = Text(_ring(step), style=_RING_STYLES.get(step.ring, ""))
        heading = Text(f"rollout no. {step.number}{_of(step)}: ").append(ring)
        console.print(heading.append(f"  {at}  {visible(step.who)}"), soft_wrap=True)
        rows = [("why", visible(f"{step.why} ({step.asked_why})" if step.asked_why else step.why))]
        rows += [("changed", _change(change)) for change in step.changes]
        # A value that somebody asked for has none.
        rows += [("evidence", _in_words(step.evidence, step.confidence))] if step.evidence.queries else []
        for name, value in rows:
            print_row(name, value, 9, console)

    if taken_back:
        console.print(Text(f"rollout no. {steps[-1].number}: ").append("no longer in force", style="bold red"))
        print_row("why", visible(taken_back), 9, console)


def _of(step: RolloutStep) -> str:
    """The group that was recommended; nothing where the values were given."""
    return "" if step.group == ASKED else f" ({visible(step.group)})"


def _in_words(evidence: Evidence, confidence: float) -> str:
    return (
        f"{evidence.queries} runs, {evidence.fingerprints} fingerprints, {evidence.changed} decided otherwise; "
        f"{evidence.seconds:.3g} s ({evidence.low:.3g} to {evidence.high:.3g}), confidence {confidence:.3f}"
    )


def _ring(step: RolloutStep) -> str:
    if step.ring is Ring.CANARY and step.canary_share is not None:
        return f"{step.ring.value} ({step.canary_share:.3g})"
    return _in_plain_words(step.ring)


def _in_plain_words(ring: Ring | None) -> str:
    return "" if ring is None else ring.value.replace("_", " ")


def _change(change: Change) -> str:
    return f"{visible(change.key)}: {visible(change.old or '(not set)')} -> {visible(change.new or '(not set)')}"
