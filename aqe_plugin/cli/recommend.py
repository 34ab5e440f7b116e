"""The command ``recommend``, which changes nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from aqe_plugin.cli.history_source import opened_history
from aqe_plugin.cli.install import TargetOption, place_of
from aqe_plugin.cli.log_options import LOGS_HELP, HadoopConfOption
from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.errors import TargetError
from aqe_plugin.render.formats import FindingsFormat
from aqe_plugin.render.messages import say
from aqe_plugin.render.terminal import print_json, print_lines, stdout_console
from aqe_plugin.render.tuning import conf_lines, finding_json, print_findings
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.recommendation import Finding, Limits, best
from aqe_plugin.tuning.rollout.attempts import findings_after, sure_enough
from aqe_plugin.tuning.rollout.ledger import rollouts_of

LogsArgument = Annotated[
    list[str] | None,
    typer.Argument(help=LOGS_HELP, show_default=False),
]
DecisionsOption = Annotated[
    str | None,
    typer.Option("--decisions", help="Instead of logs: the tables of `aqe-plugin pipeline ingest`."),
]
FindingsFormatOption = Annotated[
    FindingsFormat,
    typer.Option("--format", help="A table or JSON of every group; conf lines of the best."),
]
StepOption = Annotated[float, typer.Option(min=1.01, max=10, help="The largest factor by which a value may change.")]
RunsOption = Annotated[int, typer.Option(min=5, max=1000, help="Runs that a fingerprint must have to count.")]


def recommend_command(
    logs: LogsArgument = None,
    decisions: DecisionsOption = None,
    target: TargetOption = None,
    output: FindingsFormatOption = "table",
    max_step: StepOption = 2.0,
    min_runs: RunsOption = 5,
    hadoop_conf: HadoopConfOption = None,
) -> None:
    """Recommend thresholds from the times of recurring queries; changes nothing.

    Steps start from the values of the conf that --target names, else from the defaults; what a rollout
    of that conf lately took back is held back. The plugin itself decides the logged joins again, in a Spark session on
    this machine.

    Example: aqe-plugin recommend /tmp/spark-events --target spark-defaults.conf
    """
    limits = Limits(max_step=max_step, min_runs=min_runs)
    path = place_of(target) if target is not None else None
    if isinstance(path, FileStore) and path.read() is None:
        raise TargetError(f"--target {target}: no such file. Without --target, steps start from the defaults.")
    conf = {} if path is None else read_target(path).conf.items()
    steps = () if path is None else rollouts_of(path)
    limits = sure_enough(steps, limits)
    with opened_history(logs, decisions, hadoop_conf) as source, source.replay() as replay:
        findings = findings_after(steps, source.history.runs, current(conf), limits, replay)
    say_held_back(findings)
    _show_findings(findings, limits, output)


def _show_findings(findings: tuple[Finding, ...], limits: Limits, output: FindingsFormat) -> None:
    stdout = stdout_console(soft_wrap=output != "table")
    chosen = best(findings, limits)
    if output == "table":
        print_findings(findings, limits, stdout)
    elif output == "json":
        for finding in findings:
            print_json(finding_json(finding, limits, chosen), stdout)
    elif chosen is not None:
        print_lines(conf_lines(chosen), stdout)
    if chosen is None:
        print_nothing_recommended(findings, limits)


def say_held_back(findings: tuple[Finding, ...]) -> None:
    """Names on standard error each group that a rollout took back lately."""
    for finding in findings:
        if finding.held_back:
            say(f"{finding.group}: {finding.reason}.")


def print_nothing_recommended(findings: tuple[Finding, ...], limits: Limits) -> None:
    """Prints on standard error that no group of ``findings`` is within ``limits``."""
    stopped = sum(finding.recommendation is not None for finding in findings)
    more = f" {stopped} would save time but exceed a limit." if stopped else ""
    say(
        f"Nothing to change: no group passes with at least {limits.min_runs} runs of a fingerprint, steps of at most "
        f"x{limits.max_step:g}, and confidence {limits.min_confidence:.4g}.{more}"
    )
