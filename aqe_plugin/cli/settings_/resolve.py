"""What is set, and where: the environment before the file, the command's own setting before the one for all commands.

Only this module needs pydantic, and it is imported only when there is something to read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic_settings import BaseSettings, EnvSettingsSource, InitSettingsSource, PydanticBaseSettingsSource
from pydantic_settings.exceptions import SettingsError

from aqe_plugin.cli.settings_.description import NOT_SHOWN, CommandSettings, Setting, shared_settings
from aqe_plugin.cli.settings_.file import CONFIG_VARIABLE, SettingsFile, toml_value
from aqe_plugin.errors import ConfError
from aqe_plugin.logs.addresses import is_hadoop_uri

__all__ = ["PREFIX", "Origin", "Resolved", "resolve", "variable_name"]

# Two underscores: into every pod Kubernetes puts the likes of AQE_PLUGIN_EXPORTER_PORT, which are none of ours.
PREFIX = "AQE_PLUGIN__"
# How a target begins that is no file.
_NO_FILE = ("kubernetes:", "sc:/")


# Command, empty for a setting of all commands, and name.
_Key = tuple[str, str]


class Origin(str, Enum):
    """Where a value is set, nearest first."""

    ENVIRONMENT = "environment"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is set for one option; ``place`` is the variable, or the file and line."""

    setting: Setting
    value: Any
    origin: Origin
    place: str


@dataclass(frozen=True, slots=True)
class _Layer:
    """One source, checked: each value, and where it stands."""

    origin: Origin
    values: Mapping[_Key, tuple[Any, str]]


def resolve(
    commands: Sequence[CommandSettings], environment: Mapping[str, str], file: SettingsFile | None
) -> dict[_Key, Resolved]:
    """What is set, by command and name; an option that nobody set is not in it.

    Raises:
        ConfError: a source sets something that there is not, or a value that is not allowed.
    """
    layers = [_from_environment(commands, environment)]
    if file is not None:
        layers.append(_from_file(commands, file))
    found: dict[_Key, Resolved] = {}
    for command in commands:
        for setting in command.settings:
            for layer in reversed(layers):
                for key in (("", setting.name), (command.name, setting.name)):
                    if key in layer.values:
                        value, place = layer.values[key]
                        found[command.name, setting.name] = Resolved(setting, value, layer.origin, place)
    return found


def variable_name(command: str, name: str) -> str:
    """The environment variable of a setting; ``command`` is empty for one of all commands."""
    parts = (command, name) if command else (name,)
    return PREFIX + "__".join(part.upper().replace("-", "_") for part in parts)


def _from_environment(commands: Sequence[CommandSettings], environment: Mapping[str, str]) -> _Layer:
    known = {variable_name(*key): key for key in _every(commands)}
    given = {name: value for name, value in environment.items() if name.startswith(PREFIX) and name != CONFIG_VARIABLE}
    for name in given:
        if name not in known:
            short = [one.removeprefix(PREFIX) for one in known]
            raise ConfError(f"{name}: no such setting; {_meant(name.removeprefix(PREFIX), short, PREFIX)}")

    known_settings = _every(commands)

    def found_at(key: _Key) -> str:
        name = variable_name(*key)
        return f"{name}={NOT_SHOWN if known_settings[key].may_hide else given[name]}"

    class Source(EnvSettingsSource):
        def _load_env_vars(self) -> Mapping[str, str | None]:
            # pydantic-settings looks for names without regard to case, in lower case.
            return {name.lower(): value for name, value in given.items() if value}

    source = Source(_model(commands), case_sensitive=False, env_prefix=PREFIX, env_nested_delimiter="__")
    values = _checked(known_settings, source, found_at)
    return _Layer(Origin.ENVIRONMENT, {key: (value, variable_name(*key)) for key, value in values.items()})


def _from_file(commands: Sequence[CommandSettings], file: SettingsFile) -> _Layer:
    known = _every(commands)
    given = _known_alone(known, [command.name for command in commands], file)

    def found_at(key: _Key) -> str:
        table, name = key
        inner = file.values[table][name] if table else file.values[name]
        found = NOT_SHOWN if known[key].may_hide else toml_value(inner)
        return f"{file.place(*_path(key))}: {'.'.join(_path(key))} = {found}"

    values = _checked(known, InitSettingsSource(_model(commands), given), found_at)
    return _Layer(
        Origin.FILE,
        {
            key: (_beside(file, value) if known[key].is_path else value, file.place(*_path(key)))
            for key, value in values.items()
        },
    )


def _known_alone(known: Mapping[_Key, Setting], commands: Sequence[str], file: SettingsFile) -> dict[str, Any]:
    """What the file holds, as the model names it.

    Raises:
        ConfError: it holds something that is no setting.
    """
    given: dict[str, Any] = {}
    for key, value in file.values.items():
        if key in commands and not isinstance(value, dict):
            raise ConfError(f"{file.place(key)}: {key} is a command: write [{key}], and its options below that.")
        pairs = [((key, name), inner) for name, inner in value.items()] if key in commands else [(("", key), value)]
        for found, inner in pairs:
            if found not in known:
                why = _unknown(found, known, commands)
                raise ConfError(f"{file.place(*_path(found))}: {'.'.join(_path(found))}: {why}")
            inside = given.setdefault(_field(found[0]), {}) if found[0] else given
            inside[_field(found[1])] = inner
    return given


def _checked(
    known: Mapping[_Key, Setting], source: PydanticBaseSettingsSource, found_at: Callable[[_Key], str]
) -> dict[_Key, Any]:
    """What ``source`` sets, each value of its setting's type.

    Raises:
        ConfError: one is not allowed; ``found_at`` says where it stands and what was found.
    """
    names = {(_field(command), _field(name)): (command, name) for command, name in known}
    try:
        model = source.settings_cls(**source())
    except SettingsError as error:
        raise ConfError(f"{error}.") from error
    except ValidationError as error:
        where: Any = tuple(str(part) for part in error.errors()[0]["loc"])
        key = names.get(where[:2]) or names["", where[0]]
        raise ConfError(f"{found_at(key)} is not allowed: expected {known[key].allowed}.") from error
    return {
        key: getattr(holder, name)
        for (table, name), key in names.items()
        for holder in (getattr(model, table) if table else model,)
        if holder is not None and name in holder.model_fields_set
    }


def _model(commands: Sequence[CommandSettings]) -> type[BaseSettings]:
    """The settings as pydantic knows them: a field for each of all commands, and a model for each command's own."""
    fields: dict[str, Any] = {_field(setting.name): _field_of(setting) for setting in shared_settings(commands)}
    for command in commands:
        inner: dict[str, Any] = {_field(setting.name): _field_of(setting) for setting in command.settings}
        made = create_model(_field(command.name), __config__=ConfigDict(extra="forbid"), **inner)
        fields[_field(command.name)] = (made | None, None)
    return cast("type[BaseSettings]", create_model("Settings", __base__=_Settings, **fields))


class _Settings(BaseSettings):
    """Its sources are called one by one, so that each value's origin is known."""

    model_config = ConfigDict(extra="forbid")  # type: ignore[assignment]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def _field_of(setting: Setting) -> tuple[Any, None]:
    shape: Any = setting.shape
    if setting.shape in (int, float):
        shape = Annotated[setting.shape, Field(ge=setting.least, le=setting.most), BeforeValidator(_no_switch)]
    return ((list[shape] if setting.many else shape) | None, None)


def _no_switch(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true and false are no numbers")  # noqa: TRY004 - pydantic asks for this one
    return value


def _every(commands: Sequence[CommandSettings]) -> dict[_Key, Setting]:
    """Each setting by its key, those for all commands first."""
    shared = {("", setting.name): setting for setting in shared_settings(commands)}
    return shared | {(command.name, setting.name): setting for command in commands for setting in command.settings}


def _field(name: str) -> str:
    return name.replace("-", "_")


def _path(key: _Key) -> tuple[str, ...]:
    return tuple(filter(None, key))


def _unknown(key: _Key, known: Mapping[_Key, Setting], commands: Sequence[str]) -> str:
    own = sorted(command for command in commands if (command, key[1]) in known)
    if not key[0] and own:
        return f"is set command by command: write it below [{'] or ['.join(own)}]."
    return f"no such setting; {_meant('.'.join(_path(key)), [*map('.'.join, map(_path, known)), *commands], '')}"


def _meant(name: str, known: Sequence[str], prefix: str) -> str:
    close = get_close_matches(name, known, n=1)
    everything = "aqe-plugin --help lists the commands, whose options are the settings."
    return f"meant was {prefix}{close[0]}?" if close else everything


def _beside(file: SettingsFile, value: Any) -> Any:
    """Paths in a file are meant from its folder, whatever folder the command is started in."""
    if isinstance(value, list):
        return [_beside(file, one) for one in value]
    if str(value).startswith(_NO_FILE) or is_hadoop_uri(str(value)):
        return value
    return type(value)(file.path.absolute().parent / Path(value).expanduser())
