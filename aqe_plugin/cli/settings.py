"""Options that the command line leaves out, from the environment or a TOML file, become Click's ``default_map``.

Click checks each value as it checks an option. Its own variables are not used: it splits lists at spaces and colons,
which paths and addresses hold.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from aqe_plugin.cli.settings_file import CONFIG_VARIABLE, PREFIX, find_settings, read_settings
from aqe_plugin.conf.credentials import HIDDEN, without_credentials, without_secret_value
from aqe_plugin.errors import ConfError
from aqe_plugin.logs.addresses import is_hadoop_uri

# The metavar of an option that names a file or folder; in a settings file it is relative to that file.
PATH = "PATH"
# Each command has its own meaning for them, so they are not set for all commands at once; nor are switches.
_OWN = {"format", "jar"}
_WORDS = tuple(
    (re.compile(theirs), ours)
    for theirs, ours in (
        ("Input should be a valid integer.*", "expected a whole number"),
        ("Input should be a valid number.*", "expected a number"),
        ("Input should be a valid boolean.*", "expected true or false"),
        ("Input should be a valid", "expected a"),
        ("Input should be greater than or equal to", "expected at least"),
        ("Input should be less than or equal to", "expected at most"),
        ("Input should be", "expected"),
    )
)
_ADDRESSES = ("kubernetes:", "sc:/")


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

    @property
    def origin(self) -> str:
        """``environment``, ``file`` or ``default``."""
        return "default" if not self.place else "environment" if self.place.startswith(PREFIX) else "file"

    @property
    def shown(self) -> Any:
        """The value for anybody's eyes, fit for JSON."""
        return _shown(self.value, self.option)


def use_settings(context: typer.Context, given: Path | None) -> None:
    """Makes what is set the default of the command that is about to be parsed."""
    words: list[str] = context.obj or []
    # Help is there also, and above all, when settings are wrong; `config` reports what is wrong itself.
    if context.invoked_subcommand in (None, "config") or "--help" in words:
        return
    # Scripts call `path` for every `spark-submit`: another command's wrong setting must not stop them.
    only = "path" if context.invoked_subcommand == "path" else None
    settings = settings_of(context.command, os.environ, find_settings(given, os.environ), only=only)
    defaults: dict[str, Any] = {}
    for one in settings:
        command = defaults
        for word in one.words:
            command = command.setdefault(word, {})
        if one.place:
            command[one.option.name] = one.value
    context.default_map = defaults


def _shown(value: Any, option: Any) -> Any:
    if option.hidden and value is not None:
        return HIDDEN
    if isinstance(value, list):
        return [_shown(one, option) for one in value]
    plain = value.value if isinstance(value, Enum) else value
    if not isinstance(plain, str | Path):
        return plain
    return without_credentials(without_secret_value(str(plain)))


def settings_of(
    root: Any, environment: Mapping[str, str], path: Path | None, *, only: str | None = None
) -> list[Setting]:
    """Every option of every command below ``root``, and what sets it: the environment, else the file at ``path``.

    In each of them, a setting of one command wins over the same setting of all commands.

    Args:
        only: the one command whose settings are read and checked; ``None`` for all.

    Raises:
        ConfError: one of them sets an unknown option, or a value that is not allowed.
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
            taken = _taken(value, found[key].option, place, path)
            _check(taken, found[key].option, place, typer.Context(root))
            found[key] = replace(found[key], value=taken, place=place)
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
        found = json.dumps(_shown(value, option), default=str)
        raise ConfError(f"{place} = {found} is not allowed: expected {expected}.")
    if option.is_flag:
        return value
    if option.multiple:
        return [str(one) for one in value]
    folder = path.absolute().parent if in_file and path is not None and option.metavar == PATH else None
    return _beside(folder, str(value))


def _beside(folder: Path | None, text: str) -> str:
    is_address = text.startswith(_ADDRESSES) or is_hadoop_uri(text)
    return text if folder is None or is_address else str(folder / Path(text).expanduser())


def _check(value: Any, option: Any, place: str, context: typer.Context) -> None:
    try:
        option.process_value(context, value)
    except typer.BadParameter as error:
        why = plain_message(error).rstrip(".")
        raise ConfError(f"{place} = {json.dumps(_shown(value, option))} is not allowed: {why}.") from error


def plain_message(error: typer.BadParameter) -> str:
    """What is wrong with a value, in our words for those of pydantic, which Typer uses."""
    text = error.message.removeprefix("Value error, ")
    for theirs, ours in _WORDS:
        text = theirs.sub(ours, text)
    return text


def message_with_value(error: typer.BadParameter) -> str:
    """The same with the value, for a command line, where nothing else names it."""
    text = plain_message(error)
    errors = getattr(error.__cause__, "errors", None)
    if errors is None:
        return text
    found = repr(str(errors()[0]["input"]))
    return text if found in text else f"{found} is not allowed: {text.rstrip('.')}."


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
