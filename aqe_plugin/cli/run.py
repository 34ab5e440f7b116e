"""The command ``run``: the daemon that watches event logs, serves their metrics, and tunes on a schedule."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from aqe_plugin.cli.log_options import HadoopConfOption
from aqe_plugin.cli.settings import CONFIG_VARIABLE, PREFIX, find_settings, path_option
from aqe_plugin.conf.stores.kubernetes_address import parse_address
from aqe_plugin.conf.stores.locate import LIVE, find_target
from aqe_plugin.errors import ConfError, ExtraMissingError
from aqe_plugin.logs.access import access as access_of
from aqe_plugin.logs.addresses import is_url
from aqe_plugin.machine.extras import install_command


def run(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A folder of event logs (spark.eventLog.dir), its hdfs:// or s3a:// address, or a History Server: "
            "http://HOST:18080.",
            show_default=False,
        ),
    ],
    checkpoint: Annotated[
        Path | None, path_option("The file that keeps offsets and counts across restarts; created when absent.")
    ] = None,
    no_checkpoint: Annotated[
        bool, typer.Option("--no-checkpoint", help="Keep nothing: counts begin at 0 with each start.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to serve on; 0 takes any free one.")] = 9417,
    address: Annotated[str, typer.Option(help="The address to serve on; 0.0.0.0 is every interface.")] = "127.0.0.1",
    applications: Annotated[
        int, typer.Option(min=0, max=10_000, help="How many applications, the latest, get metrics of their own.")
    ] = 100,
    every: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds between two looks at the logs.")] = 10,
    tune_every: Annotated[
        float | None,
        typer.Option(min=0.01, max=24 * 365, help="Hours between two runs of recommend; without it there are none."),
    ] = None,
    rollout: Annotated[
        bool,
        typer.Option(
            "--rollout",
            help="Run rollout --yes instead of recommend: one ring at a time, and back when it does harm. Its options, "
            "such as target, are those below [rollout] in the settings file.",
        ),
    ] = False,
    hadoop_conf: HadoopConfOption = None,
    history_user: Annotated[
        str | None, typer.Option(help="The user name for a History Server that asks for one.")
    ] = None,
    history_password: Annotated[
        str | None, typer.Option(hidden=True, help="The password of that user; never on the command line.")
    ] = None,
    history_token: Annotated[
        str | None, typer.Option(hidden=True, help="A bearer token instead; never on the command line.")
    ] = None,
    history_running_every: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=86400,
            help="Also read running applications from a History Server, each log at most once in so many seconds.",
            show_default="only finished applications",
        ),
    ] = None,
) -> None:
    """Watch event logs and serve their metrics until stopped; optionally tune on a schedule.

    With a checkpoint, a kill at any point loses nothing and counts nothing twice. SIGTERM and SIGINT stop it: exit code
    0 when the checkpoint was written, else 8. /metrics, /healthz and /readyz answer while logs are read.

    Example: aqe-plugin run /tmp/spark-events --checkpoint /var/lib/aqe-plugin/checkpoint.db
    """
    given = [name for name in ("checkpoint", "no_checkpoint") if _is_on_command_line(context, name)]
    # What the command line says is stronger than a setting of the other.
    if len(given) == 2 or (checkpoint is None and not no_checkpoint):
        raise typer.BadParameter("give it a file, or --no-checkpoint, but not both.", param_hint="--checkpoint")
    if no_checkpoint and given != ["checkpoint"]:
        checkpoint = None
    _require_no_secret(context)
    if tune_every is not None and checkpoint is None:
        raise ConfError("--tune-every needs a --checkpoint, which keeps when the command last ran.")
    access = None
    if is_url(source):
        access = access_of(source, history_user, history_password, history_token, history_running_every)
    words = _tuning_words(source, tune_every, rollout)
    _check_settings_of(words, context)
    target = _target_of_rollout(context) if rollout else ""
    # Its libraries take longer to import than those of every other command together.
    from aqe_plugin.exporter.daemon.run import serve_for_good
    from aqe_plugin.exporter.daemon.tuner import Schedule

    schedule = None
    if tune_every is not None:
        settings = find_settings(context.find_root().params.get("config"), os.environ)
        environment = _tuning_environment(settings, hadoop_conf or [], target)
        schedule = Schedule(words, tune_every * 3600, environment, target)
    serve_for_good(
        source,
        checkpoint,
        port=port,
        address=address,
        applications=applications,
        every_seconds=every,
        schedule=schedule,
        hadoop_conf=hadoop_conf or [],
        access=access,
    )


def _is_on_command_line(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _require_no_secret(context: typer.Context) -> None:
    """Makes sure that what is secret was not given where every list of processes shows it.

    Raises:
        ConfError: it was.
    """
    for name in ("history_password", "history_token"):
        if _is_on_command_line(context, name):
            option = name.replace("_", "-")
            raise ConfError(
                f"--{option} is not taken from the command line, which others on this machine can read. Set "
                f"AQE_PLUGIN__RUN__{name.upper()}, or {option} below [run] in the settings file."
            )


def _tuning_environment(settings: Path | None, hadoop_conf: Sequence[str], target: str) -> dict[str, str]:
    """What the command that tunes needs besides its words, which the journal and every list of processes show."""
    environment = {
        CONFIG_VARIABLE: "" if settings is None else str(settings.absolute()),
        f"{PREFIX}HADOOP_CONF": json.dumps(list(hadoop_conf)) if hadoop_conf else "",
        # Kept for every run, whatever the settings say by then; an address may hold a token.
        f"{PREFIX}ROLLOUT__TARGET": target,
    }
    return {name: value for name, value in environment.items() if value}


def _target_of_rollout(context: typer.Context) -> str:
    """The target that the settings of ``rollout`` and the environment name: an address, or the path of a file.

    Raises:
        ConfError: they name none, or one whose application each change restarts.
        TargetError: its folder does not exist.
    """
    settings = (context.find_root().default_map or {}).get("rollout", {})
    target = settings.get("target")
    # A server that is away now may be there when the command runs.
    if target is not None and target.startswith(LIVE):
        if parse_address(target).kind.restarts:
            raise ConfError(
                f"--rollout: each step of a rollout would restart {target} and end its present run. Name a ConfigMap "
                "that applications read when they start, or take each step by hand: aqe-plugin rollout."
            )
        return str(target)
    return str(find_target(target, os.environ))


def _check_settings_of(words: Sequence[str], context: typer.Context) -> None:
    """Refuses what the settings of a command do not allow now, and not when it runs for the first time."""
    root = context.find_root()
    if words:
        command = root.command.get_command(root, words[0])  # type: ignore[attr-defined]
        command.make_context(words[0], list(words[1:]), parent=root)


def _tuning_words(source: str, every_hours: float | None, rollout: bool) -> tuple[str, ...]:
    """The command that tunes, as its words; its other options are settings.

    Raises:
        ConfError: an option asks for what another rules out.
        ExtraMissingError: tuning needs PySpark.
    """
    if every_hours is None:
        if rollout:
            raise ConfError("--rollout is for tuning: give --tune-every HOURS as well.")
        return ()
    if is_url(source):
        raise ConfError("--tune-every reads a folder of event logs; a History Server is only watched.")
    if find_spec("pyspark") is None:
        raise ExtraMissingError(f"--tune-every needs PySpark: {install_command('spark')}.")
    command = ("rollout", source, "--yes", "--why", "aqe-plugin run") if rollout else ("recommend", source)
    return (*command, "--format", "json")
