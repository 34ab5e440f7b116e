"""The commands that change a conf (``install``, ``rollback``, ``uninstall``), and ``history``."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Annotated

import typer

from aqe_plugin.cli.settings import PATH
from aqe_plugin.conf.credentials import without_credentials
from aqe_plugin.conf.keys import PLUGINS_KEY
from aqe_plugin.conf.stores.locate import find_target, read_target
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import AqePluginError, ConflictError
from aqe_plugin.events.json_values import encode
from aqe_plugin.events.model import Mode
from aqe_plugin.install.checks import key_checks
from aqe_plugin.install.chosen_jar import chosen_jar
from aqe_plugin.install.controller import (
    Proposal,
    carry_out,
    changed_elsewhere,
    keys_left,
    propose_install,
    propose_rollback,
    propose_uninstall,
)
from aqe_plugin.install.journal import Actor, journal_of, undone
from aqe_plugin.install.plan import times_listed
from aqe_plugin.render.control import (
    diff_of,
    print_history,
    print_proposal,
    proposal_json,
)
from aqe_plugin.render.formats import ProposalFormat, TableOrJson
from aqe_plugin.render.messages import say, warn
from aqe_plugin.render.terminal import print_json, print_lines, stdout_console
from aqe_plugin.render.tuning import print_rollouts
from aqe_plugin.tuning.rollout.ledger import RolloutStep, rollouts_of
from aqe_plugin.tuning.rollout.manual_edits import manual_edits

TargetOption = Annotated[
    str | None,
    typer.Option(
        metavar=PATH,
        help="The conf to read or change: spark-defaults.conf, the folder that Spark was unpacked to, a Kubernetes "
        "YAML file (ConfigMap or Spark operator manifest) or a live object (kubernetes:NAMESPACE/KIND/NAME).",
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Make the change; without it the change is only shown.")]
ProposalFormatOption = Annotated[
    ProposalFormat,
    typer.Option("--format", help="A table, JSON, a diff of the file, or a patch of the object, for a repository."),
]
TableOrJsonOption = Annotated[TableOrJson, typer.Option("--format", help="A table or JSON lines.")]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, for the journal.")]


def install(
    target: TargetOption = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Without it, a mode that is set stays, and a new install observes.")
    ] = None,
    jar: Annotated[
        str | None, typer.Option(help="The jar as Spark will find it: a path, or a URL such as local:///opt/….jar.")
    ] = None,
    spark: Annotated[str | None, typer.Option(help="The cluster's Spark version or line, e.g. 4.1.")] = None,
    yes: YesOption = False,
    output: ProposalFormatOption = "table",
    why: WhyOption = "",
) -> None:
    """Install the plugin into a conf: add it to spark.plugins and its jar to spark.jars, and set the mode.

    Everything else in the file stays, byte for byte, and a second install changes nothing. Without --target, every
    command that reads or changes a conf takes spark-defaults.conf in $SPARK_CONF_DIR, else in $SPARK_HOME/conf.

    Example: aqe-plugin install --target /etc/spark/spark-defaults.conf --yes
    """
    path = place_of(target)
    if mode == "off" and jar is None and not times_listed(read_target(path).conf):
        raise ConflictError(
            f"{path.name}: nothing to switch off: its {PLUGINS_KEY} does not name the plugin. Is it another conf "
            "(--target), or do applications set spark.plugins themselves? With --jar, install puts it in, switched off."
        )
    wanted = chosen_jar(path, jar, spark)
    proposal = propose_install(path, wanted, mode)
    _show_and_do(proposal, yes, output, why)
    conf = proposal.store.parse(proposal.after)
    if conf.not_read_by and not proposal.nothing_to_do:
        say(conf.not_read_by)
    for check in key_checks(conf.items()):
        if not check.ok:
            found = check.found if check.found.endswith(("?", ".")) else f"{check.found}."
            warn(f"{proposal.store.name}: {check.name} = {found} Correct or remove it; check lists all such keys.")


def rollback(
    target: TargetOption = None,
    to: Annotated[
        int | None,
        typer.Option(
            "--to",
            min=0,
            help="Undo every change after this number in `history`; 0 undoes all.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Also when somebody else changed the target since: a file goes back as a whole, and its present state "
            "is kept as a backup; of a live object, the keys that they changed stay as they are.",
        ),
    ] = False,
    yes: YesOption = False,
    output: ProposalFormatOption = "table",
    why: WhyOption = "",
) -> None:
    """Undo the last change in force, or all after an earlier one.

    A file is restored byte for byte; in a live object, each key of the changes gets its old value back.

    Example: aqe-plugin rollback --target spark-defaults.conf --to 2 --yes
    """
    path = place_of(target)
    _show_and_do(propose_rollback(path, force, to), yes, output, why)


def uninstall(
    target: TargetOption = None,
    purge: Annotated[bool, typer.Option("--purge", help="Remove every spark.aqePlugin.* key, whoever set it.")] = False,
    yes: YesOption = False,
    output: ProposalFormatOption = "table",
    why: WhyOption = "",
) -> None:
    """Take out of the file what install put in; if nothing else changed since, every byte is as before."""
    path = place_of(target)
    proposal = propose_uninstall(path, purge)
    _show_and_do(proposal, yes, output, why)
    left = [f"{key} = {value}" for key, value in keys_left(proposal).items()]
    if left:
        say(f"Left, because somebody else set or changed them: {', '.join(left)}. --purge removes such keys.")


def history(target: TargetOption = None, output: TableOrJsonOption = "table") -> None:
    """Show what aqe-plugin did to the file, with who, when, why and digests, and its rollouts."""
    path = place_of(target)
    journal, rollouts = journal_of(path), rollouts_of(path)
    stdout = stdout_console()
    if output == "json":
        over = undone(journal)
        for record in journal.records:
            print_json({**encode(record), "undone": record.number in over}, stdout)
        for step in rollouts:
            print_json(encode(step), stdout)
    elif journal.records or rollouts:
        print_history(journal, stdout)
        if rollouts:
            print_rollouts(rollouts, _taken_back(path, rollouts), stdout)
    else:
        say(f"{path.name}: no change is recorded on this machine (journal: {journal.folder}/journal.jsonl).")
    if journal.damage:
        warn(journal.damage)


def _taken_back(file: ConfStore, steps: Sequence[RolloutStep]) -> str:
    """Why the file lacks what its last rollout gave it, which the ledger does not know before the next look."""
    try:
        edits = manual_edits(steps, read_target(file))
    except AqePluginError:
        # The history of a conf that cannot be read is asked for all the same.
        return ""
    return "" if edits is None else edits.text


def place_of(target: str | None) -> ConfStore:
    """The place to use, as for ``find_target``; what there is to know of it is reported on standard error."""
    found = find_target(target, os.environ, warn)
    elsewhere = changed_elsewhere(found)
    if elsewhere:
        warn(elsewhere)
    return found


def _show_and_do(proposal: Proposal, yes: bool, output: ProposalFormat, why: str) -> None:
    stdout = stdout_console(soft_wrap=True)
    do_it = yes and not proposal.nothing_to_do
    rehearsed = "" if do_it or proposal.nothing_to_do else proposal.store.rehearse(proposal.before, proposal.after)
    settled = carry_out(proposal, actor(why)) if do_it else []
    if output == "json":
        print_json(proposal_json(proposal, do_it), stdout)
    elif output == "diff":
        print_lines(diff_of(proposal), stdout)
    elif output == "patch":
        print_lines(proposal.store.patch(proposal.before, proposal.after).splitlines(), stdout)
    elif not proposal.nothing_to_do:
        print_proposal(proposal, do_it, stdout_console())
    for line in settled:
        warn(f"found from before: {line}")
    name = proposal.store.name
    if proposal.nothing_to_do:
        say(f"Nothing to do: {name} is as {proposal.action} would leave it.")
    elif do_it:
        back = (
            ""
            if proposal.action == "rollback"
            else " aqe-plugin rollback, with the same --target if you gave one, shows how to undo it."
        )
        say(f"Done: {proposal.store.effect}{back}")
    else:
        say(f"Nothing was written; --yes makes the change.{rehearsed and ' '}{rehearsed}")


def actor(why: str) -> Actor:
    """The user who runs the command, with the clock of this machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        # A container's user may have no name.
        user = str(os.getuid())
    return Actor(f"{user}@{socket.gethostname()}", without_credentials(why), lambda: datetime.now(timezone.utc))
