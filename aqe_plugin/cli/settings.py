"""Options that the command line leaves out, from the environment or a TOML file, become Click's ``default_map``.

Click checks each value when the command runs that has the option. Its own variables are not used: they know no setting
of all commands, and split lists at spaces.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from aqe_plugin.conf.stores.locate import LIVE
from aqe_plugin.errors import ConfError, TargetError
from aqe_plugin.logs.addresses import is_hadoop_uri

# Two underscores: Kubernetes itself puts variables such as AQE_PLUGIN_EXPORTER_PORT into every pod.
PREFIX = "AQE_PLUGIN__"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
# The metavar of an option that names a file or folder; in a settings file it is relative to that file.
PATH = "PATH"
# Each command has its own meaning for them, so they are not set for all commands at once; nor are switches.
_OWN = {"format", "jar"}


def places(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where the settings file is looked for when none is named, best first."""
    home = environment.get("XDG_CONFIG_HOME") or (f"{environment['HOME']}/.config" if environment.get("HOME") else "")
    return tuple(Path(folder) / "aqe-plugin" / "config.toml" for folder in (home, "/etc") if folder)


def find_settings(given: Path | None, environment: Mapping[str, str]) -> Path | None:
    """The file to read: ``given``, else the first of :func:`places` that exists; no other is read."""
    return given or next((path for path in places(environment) if path.is_file()), None)


def read_settings(path: Path) -> dict[str, Any]:
    """The content of the settings file.

    Raises:
        TargetError: it cannot be read.
        ConfError: it is not TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        found: dict[str, Any] = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise TargetError(f"{path}: the settings file cannot be read ({error.strerror}).") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfError(f"{path}: not TOML: {error}.") from error
    return found


def path_option(meaning: str, *names: str, **more: Any) -> Any:
    """The option of a command that takes the path of a file or folder."""
    return typer.Option(*names, readable=False, metavar=PATH, help=meaning, **more)


@dataclass(frozen=True, slots=True)
class Setting:
    """One option of one command.

    Attributes:
        words: the command, as on the command line.
        name: the option without ``--``.
        option: Click's object.
        value: what sets it, or the option's default.
        place: the variable, or the file and key, that sets it; empty for the default.
    """

    words: tuple[str, ...]
    name: str
    option: Any
    value: Any = None
    place: str = ""

    @property
    def command(self) -> str:
        """The command's name in settings, e.g. ``pipeline-compact``."""
        return "-".join(self.words)


def use_settings(context: typer.Context, given: Path | None) -> None:
    """Makes what is set the default of the command that is about to be parsed."""
    words: list[str] = context.obj or []
    # Help is there also, and above all, when settings are wrong; `config` names unknown ones itself. Scripts call
    # `path` for every `spark-submit`: another command's setting must not stop them.
    if context.invoked_subcommand in (None, "config") or "--help" in words:
        return
    only = "path" if context.invoked_subcommand == "path" else None
    settings = settings_of(context.command, os.environ, find_settings(given, os.environ), only=only)
    context.default_map = {}
    for one in (one for one in settings if one.place):
        command: Any = context.default_map
        for word in one.words:
            command = command.setdefault(word, {})
        command[one.option.name] = one.value
    context.obj = {one.option: one.place for one in settings if one.place}


def settings_of(
    root: Any, environment: Mapping[str, str], path: Path | None, *, only: str | None = None
) -> list[Setting]:
    """Every option of every command below ``root``, and what sets it: the environment, else the file at ``path``.

    In each of them, a setting of one command wins over the same setting of all commands.

    Args:
        only: the one command whose settings are read; ``None`` for all.

    Raises:
        ConfError: one of them sets an unknown option.
    """
    found = {(one.command, one.name): one for one in _options(root)}
    given = [] if path is None else sorted(_in_file(path), key=lambda one: bool(one[0]))
    given += sorted(_in_environment(environment), key=lambda one: bool(one[0]))
    for command, name, value, place in given:
        if only is not None and (only, name) not in found:
            continue
        set_here = [key for key, one in found.items() if name == key[1] and _may_set(command, one)]
        if not set_here:
            raise ConfError(f"{place}: no such setting; {_hint(command, name, place, found.values())}")
        for key in set_here:
            found[key] = replace(found[key], value=_taken(value, found[key].option, place, path), place=place)
    return list(found.values())


def _options(group: Any, before: tuple[str, ...] = ()) -> Iterator[Setting]:
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _options(command, (word,))
        for option in (one for one in command.params if one.param_type_name == "option"):
            name = next(name for name in option.opts if name.startswith("--"))
            yield Setting((*before, word), name.removeprefix("--"), option, option.default)


def _may_set(command: str, option: Setting) -> bool:
    return command == option.command or not (command or option.option.is_flag or option.name in _OWN)


def _in_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, str, Any, str]]:
    """Command (empty for all), option, value and place of each variable."""
    for variable, text in environment.items():
        if variable.startswith(PREFIX) and variable != CONFIG_VARIABLE and text:
            command, _, name = variable.removeprefix(PREFIX).lower().replace("_", "-").rpartition("--")
            yield command, name, text, variable


def _in_file(path: Path) -> Iterator[tuple[str, str, Any, str]]:
    """The same of each key."""
    for key, value in read_settings(path).items():
        if isinstance(value, dict):
            yield from ((key, name, inner, f"{path}: [{key}] {name}") for name, inner in value.items())
        else:
            yield "", key, value, f"{path}: {key}"


def _taken(value: Any, option: Any, place: str, path: Path | None) -> Any:
    """``value`` as Click takes a default."""
    in_file = not place.startswith(PREFIX)
    if option.multiple and not in_file:
        # What is not JSON is refused below.
        with suppress(ValueError):
            value = json.loads(value)
    if option.multiple != isinstance(value, list) or isinstance(value, dict):
        expected = 'a list such as ["a", "b"]' if option.multiple else "one value"
        raise ConfError(f"{place}: expected {expected}.")
    if option.is_flag:
        return value
    if option.multiple:
        return [str(one) for one in value]
    folder = path.absolute().parent if in_file and path is not None and option.metavar == PATH else None
    return _beside(folder, str(value))


def _beside(folder: Path | None, text: str) -> str:
    is_address = text.startswith(LIVE) or is_hadoop_uri(text)
    return text if folder is None or is_address else str(folder / Path(text).expanduser())


def of_a_setting(error: typer.BadParameter) -> ConfError | None:
    """The error of a value that a setting gave; ``None`` for a value of the command line."""
    context, option = error.ctx, error.param
    if context is None or option is None or option.name is None:
        return None
    source = context.get_parameter_source(option.name)
    if source is None or source.name != "DEFAULT_MAP":
        return None
    return ConfError(f"{context.find_root().obj[option]} is not allowed: {error.message.rstrip('.')}.")


def _hint(command: str, name: str, place: str, options: Collection[Setting]) -> str:
    """What to write instead, spelled as in ``place``."""
    keys = [(one.command, one.name) for one in options]
    keys += [("", one.name) for one in options if _may_set("", one)]
    alike = [key for key in keys if key[1] == name]
    by_text = {" ".join(key): key for key in alike or keys}
    near = get_close_matches(f"{command} {name}", by_text, n=1, cutoff=0.0 if alike else 0.7)
    if not near:
        return "aqe-plugin config lists every setting."
    command, name = by_text[near[0]]
    if place.startswith(PREFIX):
        return f"did you mean {PREFIX}{'__'.join(filter(None, (command, name))).upper().replace('-', '_')}?"
    return f"did you mean {f'[{command}] {name}' if command else name}?"
