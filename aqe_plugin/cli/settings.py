"""``config``, which shows what is set and where, and ``completion``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from aqe_plugin.cli.settings_.apply import defaults_of, resolved
from aqe_plugin.cli.settings_.description import CommandSettings, describe
from aqe_plugin.cli.settings_.file import CONFIG_VARIABLE, find_file, places
from aqe_plugin.cli.settings_.show import print_settings, print_settings_json, settings_as_toml
from aqe_plugin.errors import ConfError, NoDataError, TargetError
from aqe_plugin.render.formats import ConfFormat
from aqe_plugin.render.terminal import shown

if TYPE_CHECKING:
    from aqe_plugin.cli.settings_.resolve import Resolved

__all__ = ["add_settings_commands", "use_settings"]


class Action(str, Enum):
    """What ``config`` does."""

    SHOW = "show"
    PATH = "path"
    CHECK = "check"


class Shell(str, Enum):
    """The shells that completion is offered for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def use_settings(app: typer.Typer, context: typer.Context, given: Path | None) -> None:
    """Puts what is set in the place of the defaults of the command that is about to be parsed.

    Raises:
        TargetError: the settings file cannot be read.
        ConfError: it, or the environment, sets something that there is not, or a value that is not allowed.
    """
    words, command = tuple(context.obj or ()), context.invoked_subcommand
    # Help is there also, and above all, when the settings are wrong.
    if command is None or "--help" in words:
        return
    try:
        settings = resolved(app, os.environ, given)
    except (ConfError, TargetError):
        # `config` says itself what is wrong, and `config path` where.
        if command == "config":
            return
        raise
    if settings:
        context.default_map = _by_words(settings, describe(app), words)


def add_settings_commands(app: typer.Typer) -> None:
    """Adds the commands to ``app``, whose commands they are about."""

    @app.command()
    def config(
        context: typer.Context,
        action: Annotated[Action, typer.Argument(help="Show what is set, or check it, or say where the file is.")],
        command: Annotated[str | None, typer.Argument(help="Only the settings of this command.")] = None,
        output: Annotated[
            ConfFormat, typer.Option("--format", help="A table, JSON, or a settings file that sets the same.")
        ] = ConfFormat.TABLE,
    ) -> None:
        """Show each setting and where its value comes from: environment, file or default; an option overrules them all.

        The file is config.toml in ~/.config/aqe-plugin or /etc/aqe-plugin, or whatever --config or
        AQE_PLUGIN__CONFIG names.
        """
        given = None if context.parent is None else context.parent.params.get("config")
        path = find_file(given, os.environ)
        stdout = Console(soft_wrap=True)
        if action is Action.PATH:
            if path is None:
                raise NoDataError(_no_file())
            stdout.print(shown(str(path)), markup=False, highlight=False)
            return
        commands, settings = describe(app), resolved(app, os.environ, given)
        if command is not None:
            commands = tuple(one for one in commands if one.name == command)
            if not commands:
                raise ConfError(f"{command}: no such command; aqe-plugin --help lists them.")
        if action is Action.CHECK:
            stdout.print(f"{'no settings file' if path is None else shown(str(path))}: nothing wrong", highlight=False)
        elif output is ConfFormat.JSON:
            print_settings_json(commands, settings, stdout)
        elif output is ConfFormat.CONF:
            stdout.file.write(settings_as_toml(commands, settings))
        else:
            print_settings(commands, settings, Console())

    @app.command()
    def completion(
        shell: Annotated[Shell, typer.Argument(help="The shell that is to complete.")],
    ) -> None:
        """Print a script with which a shell completes commands, options and their values.

        Bash: aqe-plugin completion bash > ~/.local/share/bash-completion/completions/aqe-plugin
        """
        # Not needed by any other command.
        from aqe_plugin.cli.completion import completion_script

        typer.echo(completion_script(describe(app), shell.value))


def _by_words(
    settings: Mapping[tuple[str, str], Resolved], commands: Sequence[CommandSettings], words: Sequence[str]
) -> dict[str, Any]:
    """What is set, in dictionaries by the words of each command, as a parser looks it up."""
    found: dict[str, Any] = {}
    for command in commands:
        *group, last = command.words
        inner = found
        for word in group:
            inner = inner.setdefault(word, {})
        inner[last] = defaults_of(settings, command.name, words)
    return found


def _no_file() -> str:
    looked = ", ".join(shown(str(path)) for path in places(os.environ))
    return f"There is no settings file: looked for {looked}; --config FILE or {CONFIG_VARIABLE} names another."
