"""What can be set: every option of every command, taken from the commands' own signatures, so there is one list."""

from __future__ import annotations

import inspect
import re
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, CommandInfo, OptionInfo

__all__ = ["NOT_SHOWN", "Argument", "CommandSettings", "Setting", "describe", "shared_settings"]

NOT_SHOWN = "(not shown)"
# Those of Spark's own spark.redaction.regex, and what S3 and Azure call theirs.
_SECRET_KEY = re.compile(r"secret|password|token|access[.]?key|account[.]key|credential", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Setting:
    """One option of one command.

    Attributes:
        name: as on the command line, without ``--``.
        secret: its value is never shown, and never taken from the command line.
        is_path: it names a file or folder, though an address may stand in its place.
        parameter: what the command's function calls it.
        shape: its type, of one value; ``many`` says that it is a list of them.
        default: ``None`` also for an option that must be given or set.
        least: smallest number allowed, ``None`` without a limit; ``most`` likewise.
        help: one sentence.
    """

    name: str
    parameter: str
    shape: type
    many: bool
    default: object
    least: float | None
    most: float | None
    help: str
    is_path: bool
    secret: bool = False

    @property
    def may_hide(self) -> bool:
        """Whether a value of it may hold a password."""
        return self.secret or (self.many and self.shape is str and not self.is_path)

    def shown(self, value: Any) -> Any:
        """``value`` as anybody may see it."""
        if self.secret and value is not None:
            return NOT_SHOWN
        if isinstance(value, list):
            return [_without_secret(one) if isinstance(one, str) else one for one in value]
        return value

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        one = "a path" if self.is_path else _in_words(self.shape)
        if issubclass(self.shape, Enum):
            one = f"one of {', '.join(str(member.value) for member in self.shape)}"
        elif self.least is not None:
            one += f" from {self.least:g}" + ("" if self.most is None else f" to {self.most:.9g}")
        return f'a list such as ["a", "b"], each {one}' if self.many else one


@dataclass(frozen=True, slots=True)
class Argument:
    """What a command takes without ``--``, which is given each time and never set.

    Attributes:
        choices: what it may be, empty when it may be anything.
    """

    name: str
    is_path: bool
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """A command, and what can be set of it.

    Attributes:
        name: under which its options are set; for one of a group ``<group>-<command>``.
        words: how it is called on the command line.
        help: the first line of what it does.
    """

    name: str
    words: tuple[str, ...]
    help: str
    settings: tuple[Setting, ...]
    arguments: tuple[Argument, ...]


def describe(app: typer.Typer) -> tuple[CommandSettings, ...]:
    """Every command of ``app``, in the order of ``--help``."""
    found = []
    for group, command in _registered(app):
        assert command.callback is not None
        words = (*group, command.name or command.callback.__name__.replace("_", "-"))
        options, arguments = [], []
        hints = get_type_hints(command.callback, include_extras=True)
        for parameter in inspect.signature(command.callback).parameters.values():
            if hints[parameter.name] is typer.Context:
                continue
            shape, many, told = _shape_of(hints[parameter.name])
            if isinstance(told, OptionInfo):
                options.append(_setting(parameter, shape, many, told))
            elif isinstance(told, ArgumentInfo):
                choices = tuple(str(one.value) for one in shape) if issubclass(shape, Enum) else ()
                arguments.append(Argument(parameter.name, _is_path(shape, told), choices))
        doc = inspect.getdoc(command.callback) or ""
        found.append(CommandSettings("-".join(words), words, doc.split("\n", 1)[0], tuple(options), tuple(arguments)))
    return tuple(found)


def shared_settings(commands: Iterable[CommandSettings]) -> tuple[Setting, ...]:
    """Those that can be set once for all commands: they are values and mean the same in two commands or more.

    A switch such as ``--yes`` is not among them: it is set for one command, knowingly, or not at all.
    """
    settings = [setting for command in commands for setting in command.settings]
    times = Counter(setting.name for setting in settings)
    alike: dict[str, Setting] = {}
    unlike = set()
    for setting in settings:
        first = alike.setdefault(setting.name, setting)
        if (first.shape, first.many, first.allowed) != (setting.shape, setting.many, setting.allowed):
            unlike.add(setting.name)
    return tuple(
        setting
        for name, setting in alike.items()
        if times[name] > 1 and name not in unlike and setting.shape is not bool
    )


def _registered(app: typer.Typer) -> Iterator[tuple[tuple[str, ...], CommandInfo]]:
    """The commands of ``app``, each with the group that it is in."""
    yield from (((), command) for command in app.registered_commands)
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from (((str(group.typer_instance.info.name),), one) for one in group.typer_instance.registered_commands)


def _setting(parameter: inspect.Parameter, shape: type, many: bool, told: OptionInfo) -> Setting:
    # In Annotated[...] typer takes the first name of an option for its default, and puts that right later.
    names = [one for one in (told.default, *(told.param_decls or ())) if isinstance(one, str)]
    declared = next((one for one in names if one.startswith("--")), None)
    name = (declared or parameter.name.replace("_", "-")).split("/")[0].removeprefix("--")
    return Setting(
        name=name,
        parameter=parameter.name,
        shape=shape,
        many=many,
        default=None if parameter.default is parameter.empty else parameter.default,
        least=told.min,
        most=told.max,
        help=told.help or "",
        is_path=_is_path(shape, told),
        # Help that shows an option invites to give it.
        secret=bool(told.hidden),
    )


def _without_secret(word: str) -> str:
    key, equals, _ = word.partition("=")
    return f"{key}={NOT_SHOWN}" if equals and _SECRET_KEY.search(key) else word


def _is_path(shape: type, told: OptionInfo | ArgumentInfo) -> bool:
    # A text that may be an address, which a Path would shorten, is told apart by a path_type.
    return issubclass(shape, Path) or told.path_type is not None


def _shape_of(hint: Any) -> tuple[type, bool, object]:
    """The type of one value, whether there may be many, and what typer was told about it."""
    told: object = None
    if get_origin(hint) is Annotated:
        hint, told, *_ = get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(option for option in get_args(hint) if option is not types.NoneType)
    many = get_origin(hint) is list
    return (get_args(hint)[0] if many else hint), many, told


def _in_words(shape: type) -> str:
    if shape is bool:
        return "true or false"
    if shape is int:
        return "a whole number"
    if shape is float:
        return "a number"
    return "a path" if issubclass(shape, Path) else "a text"
