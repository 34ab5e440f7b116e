"""Settings: what can be set, which source wins, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from aqe_plugin.cli.app import app
from aqe_plugin.cli.settings import use_settings
from aqe_plugin.cli.settings_.description import CommandSettings, describe, shared_settings
from aqe_plugin.cli.settings_.file import SettingsFile, parse_settings, read_file
from aqe_plugin.cli.settings_.resolve import Origin, resolve, variable_name
from aqe_plugin.cli.settings_.show import settings_as_toml
from aqe_plugin.errors import ConfError
from commands import Answer

COMMANDS = describe(app)
EACH = [(command.name, setting.name) for command in COMMANDS for setting in command.settings]


def in_file(text: str) -> SettingsFile:
    return parse_settings(Path("/etc/c.toml"), text)


def found(environment: dict[str, str], text: str = "") -> dict[tuple[str, str], Any]:
    resolved = resolve(COMMANDS, environment, in_file(text) if text else None)
    return {key: (one.value, one.origin, one.place) for key, one in resolved.items()}


def refused(environment: dict[str, str], text: str = "") -> str:
    with pytest.raises(ConfError) as error:
        found(environment, text)
    return str(error.value)


def some_value(name: str, command: str) -> str:
    """A value that is allowed, as the environment writes it, and not the default."""
    (setting,) = (s for c in COMMANDS if c.name == command for s in c.settings if s.name == name)
    if setting.allowed.startswith("one of "):
        return setting.allowed.rsplit(" ", 1)[1]
    if setting.shape is bool:
        return "false" if setting.default else "true"
    if setting.shape in (int, float):
        least, most = setting.least or 0, setting.most or 10
        return str(setting.shape((least + most) / 2))
    return '["/x"]' if setting.many else "/x"


# what can be set


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_options_that_can_be_set_are_those_that_the_parser_knows(command: CommandSettings, answer: Answer) -> None:
    _, out, _ = answer(*command.words, "--help")
    # One row an option, with a star before those that must be given.
    parsed = set(re.findall(r"^│ \*? *--([a-z-]+)", out, re.MULTILINE)) - {"help"}
    assert parsed == {setting.name for setting in command.settings if not setting.secret}


@pytest.mark.parametrize(("command", "name"), EACH)
def test_every_option_of_every_command_is_set_by_a_variable_and_by_the_file(command: str, name: str) -> None:
    text = some_value(name, command)
    variable = variable_name(command, name)
    by_variable = found({variable: text})[command, name]
    assert by_variable[1:] == (Origin.ENVIRONMENT, variable)
    (setting,) = (s for c in COMMANDS if c.name == command for s in c.settings if s.name == name)
    toml = text if setting.shape in (bool, int, float) or setting.many else json.dumps(text)
    by_file = found({}, f"[{command}]\n{name} = {toml}\n")[command, name]
    assert by_file == (by_variable[0], Origin.FILE, "/etc/c.toml, line 2")
    assert by_file[0] != setting.default


def test_values_that_mean_the_same_everywhere_are_set_once_and_switches_are_not() -> None:
    shared = {setting.name for setting in shared_settings(COMMANDS)}
    assert {"target", "spark-home", "why", "max-step", "min-runs"} <= shared
    assert not {"yes", "force", "purge", "format"} & shared
    told = found({}, 'why = "nightly"\n')
    assert told["install", "why"] == told["rollback", "why"] == ("nightly", Origin.FILE, "/etc/c.toml, line 1")


def test_an_option_that_must_be_given_may_be_set_instead(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    made = typer.Typer()

    @made.callback()
    def frame(context: typer.Context) -> None:
        use_settings(made, context, None)

    @made.command()
    def run(place: Annotated[Path, typer.Option(help="Where.")], count: Annotated[int, typer.Option()] = 1) -> None:
        typer.echo(f"{place} {count}")

    (command,) = describe(made)
    assert [setting.default for setting in command.settings] == [None, 1]
    assert "# place = (not set; a path)\n" in settings_as_toml([command], {})
    monkeypatch.setenv("AQE_PLUGIN__RUN__PLACE", "/set")
    assert answer.of(made, "run", "--count", "2") == (0, "/set 2\n", "")


def test_a_command_of_a_group_is_set_like_any_other(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    made, group = typer.Typer(), typer.Typer(name="pipeline")

    @made.callback()
    def frame(context: typer.Context) -> None:
        use_settings(made, context, None)

    @group.command()
    def ingest(tables: Annotated[str, typer.Option()]) -> None:
        typer.echo(tables)

    @group.command()
    def compact(tables: Annotated[str, typer.Option()]) -> None:
        typer.echo(tables)

    made.add_typer(group)
    monkeypatch.setenv("AQE_PLUGIN__TABLES", "/all")
    monkeypatch.setenv("AQE_PLUGIN__PIPELINE_COMPACT__TABLES", "/one")
    assert answer.of(made, "pipeline", "ingest") == (0, "/all\n", "")
    assert answer.of(made, "pipeline", "compact") == (0, "/one\n", "")
    assert answer.of(made, "pipeline", "compact", "--tables", "/said") == (0, "/said\n", "")


# which wins


def test_the_environment_wins_over_the_file_and_a_commands_own_setting_over_that_for_all() -> None:
    text = 'why = "file"\n[install]\nwhy = "file, install"\n'
    assert found({}, text)["install", "why"][0] == "file, install"
    assert found({}, text)["rollback", "why"][0] == "file"
    everywhere = {"AQE_PLUGIN__WHY": "variable"}
    assert found(everywhere, text)["install", "why"] == ("variable", Origin.ENVIRONMENT, "AQE_PLUGIN__WHY")
    both = {**everywhere, "AQE_PLUGIN__INSTALL__WHY": "variable, install"}
    assert found(both, text)["install", "why"][0] == "variable, install"


def test_paths_in_a_file_are_meant_from_its_folder() -> None:
    text = 'target = "conf/a.conf"\n[apply]\ncanary-log = ["logs", "/abs", "hdfs://nn/logs"]\n'
    told = found({}, text)
    assert told["install", "target"][0] == Path("/etc/conf/a.conf")
    assert told["apply", "canary-log"][0] == ["/etc/logs", "/abs", "hdfs://nn/logs"]
    assert found({"AQE_PLUGIN__TARGET": "a.conf"})["install", "target"][0] == Path("a.conf")


def test_an_empty_variable_sets_nothing_and_those_of_kubernetes_are_none_of_ours() -> None:
    assert found({"AQE_PLUGIN__TARGET": ""}) == {}
    assert found({"AQE_PLUGIN_EXPORTER_PORT": "tcp://10.0.0.1:9417", "AQE_PLUGIN_EXPORTER_SERVICE_HOST": "x"}) == {}


# what is refused


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("EXPORT__PORT", "99999", "EXPORT__PORT=99999 is not allowed: expected a whole number from 0 to 65535."),
        ("EXPORT__PORT", "nine", "EXPORT__PORT=nine is not allowed: expected a whole number from 0 to 65535."),
        ("INSTALL__MODE", "off", "INSTALL__MODE=off is not allowed: expected one of observe, apply."),
        ("INSTALL__YES", "maybe", "INSTALL__YES=maybe is not allowed: expected true or false."),
        ("MAX_STEP", "inf", "MAX_STEP=inf is not allowed: expected a number from 1.01 to 10."),
        ("EXPROT__PORT", "1", "EXPROT__PORT: no such setting; meant was AQE_PLUGIN__EXPORT__PORT?"),
        ("ZZZ", "1", "ZZZ: no such setting; aqe-plugin --help lists the commands, whose options are the settings."),
        (
            "APPLY__CANARY_LOG",
            "/logs",
            'APPLY__CANARY_LOG=/logs is not allowed: expected a list such as ["a", "b"], each a path.',
        ),
    ],
)
def test_a_variable_that_is_wrong_is_refused_with_what_is_allowed(variable: str, value: str, message: str) -> None:
    assert refused({f"AQE_PLUGIN__{variable}": value}) == f"AQE_PLUGIN__{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[export]\nport = 99999", "line 2: export.port = 99999 is not allowed: expected a whole number from 0 to"),
        ("[export]\nport = true", "line 2: export.port = true is not allowed: expected a whole number"),
        ("[ export ] # x\n# port = 1\n'port' = -1", "line 3: export.port = -1 is not allowed: expected a whole number"),
        ("export.port = 99999", "line 1: export.port = 99999 is not allowed"),
        ("\nmax-step = nan", "line 2: max-step = nan is not allowed: expected a number from 1.01 to 10."),
        ("\n[export]\nprot = 1", "line 3: export.prot: no such setting; meant was export.port?"),
        ("[exprot]\nport = 1", "line 1: exprot: no such setting; meant was export?"),
        ("export = 1", "line 1: export is a command: write [export], and its options below that."),
        ("max_step = 2", "line 1: max_step: no such setting; meant was max-step?"),
        (
            "yes = true",
            "line 1: yes: is set command by command: write it below [apply] or [install] or [rollback] or [uninstall].",
        ),
        ("[apply]\ncanary-log = '/x'", 'line 2: apply.canary-log = "/x" is not allowed: expected a list such as'),
    ],
)
def test_a_key_of_the_file_that_is_wrong_is_refused_with_its_line(text: str, message: str) -> None:
    assert refused({}, text).startswith(f"/etc/c.toml, {message}")


def test_a_file_that_is_no_toml_says_where(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[export]\nport = \n")
    with pytest.raises(ConfError, match=r"c\.toml: not TOML: .*line 2"):
        read_file(path)
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(ConfError, match=r"c\.toml: byte 5 is no UTF-8"):
        read_file(path)


# the settings as a file


# Each example makes pydantic build its models twice.
@settings(max_examples=25, deadline=None)
@given(st.text(), st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)))
def test_settings_written_as_a_file_and_read_back_are_the_same(why: str, logs: list[str]) -> None:
    absolute = [f"/{log}" for log in logs]
    values = {"why": why, "apply": {"canary-log": absolute, "yes": True, "max-step": 2.5}, "export": {"port": 0}}
    first = resolve(COMMANDS, {}, SettingsFile(Path("/etc/c.toml"), "", values))
    again = resolve(COMMANDS, {}, in_file(settings_as_toml(COMMANDS, first)))
    assert {key: one.value for key, one in again.items()} == {key: one.value for key, one in first.items()}


# the command line


@pytest.fixture
def file(answer: Answer) -> Path:
    """The user's settings file, in a folder that is there."""
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "aqe-plugin" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def test_an_option_wins_over_environment_and_file_in_a_real_command(
    file: Path, tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {source: tmp_path / f"{source}.conf" for source in ("file", "variable", "flag")}
    for path in names.values():
        path.touch()

    def target(*words: str) -> str:
        code, out, err = answer("status", "--format", "json", *words)
        assert code == 0, err
        return str(json.loads(out)["file"])

    file.write_text(f'target = "{names["file"]}"\n')
    assert target() == str(names["file"])
    monkeypatch.setenv("AQE_PLUGIN__TARGET", str(names["variable"]))
    assert target() == str(names["variable"])
    assert target("--target", str(names["flag"])) == str(names["flag"])
    file.write_text('[status]\nformat = "conf"\n')
    assert answer("status")[1] == ""


def test_a_spark_home_on_the_command_line_puts_a_target_that_is_set_aside(
    file: Path, tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('target = "/elsewhere.conf"\n')
    for words in (("--spark-home", str(tmp_path)), (f"--spark-home={tmp_path}",)):
        told = json.loads(answer("status", "--format", "json", *words)[1])
        assert told["file"] == str(tmp_path / "conf" / "spark-defaults.conf")
    monkeypatch.setenv("AQE_PLUGIN__SPARK_HOME", str(tmp_path))
    assert json.loads(answer("status", "--format", "json")[1])["file"].startswith(str(tmp_path))


def test_config_show_says_where_each_value_comes_from(
    file: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("[export]\nport = 9000\n")
    monkeypatch.setenv("AQE_PLUGIN__EXPORT__ADDRESS", "::1")
    told = [json.loads(line) for line in answer("config", "show", "export", "--format", "json")[1].splitlines()]
    assert [(one["setting"], one["value"], one["from"], one["where"]) for one in told] == [
        ("export.port", 9000, "file", f"{file}, line 2"),
        ("export.address", "::1", "environment", "AQE_PLUGIN__EXPORT__ADDRESS"),
        ("export.applications", 100, "default", None),
        ("export.hadoop-conf", None, "default", None),
    ]
    assert told[0]["allowed"] == "a whole number from 0 to 65535"
    code, out, _ = answer("config", "show")
    assert (code, f"{file}, line 2" in out) == (0, True)
    assert all(f"{command}.{name}" in out for command, name in EACH)
    assert "port = 9000\n" in answer("config", "show", "--format", "conf")[1]


def test_config_says_which_file_and_whether_it_is_right(file: Path, answer: Answer) -> None:
    code, _, err = answer("config", "path")
    assert (code, str(file) in err) == (4, True)
    assert answer("config", "check") == (0, "no settings file: nothing wrong\n", "")
    file.write_text("[export]\nport = 99999\n")
    assert answer("config", "path") == (0, f"{file}\n", "")
    message = f"{file}, line 2: export.port = 99999 is not allowed: expected a whole number from 0 to 65535.\n"
    assert answer("config", "check") == answer("export", "/x") == (5, "", message)
    assert answer("export", "--help")[0] == 0
    assert answer("config", "show", "exprot")[0] == 5


def test_a_file_that_is_named_must_be_there(tmp_path: Path, answer: Answer) -> None:
    named = tmp_path / "mine.toml"
    message = f"{named}: the settings file cannot be read (No such file or directory).\n"
    assert answer("--config", str(named), "status") == (4, "", message)
    assert answer("--config", str(named), "config", "check") == (4, "", message)
    assert answer("--config", str(named), "config", "path") == (0, f"{named}\n", "")
    named.write_text('[status]\ntarget = "x.conf"\nformat = "json"\n')
    assert json.loads(answer("--config", str(named), "status")[1])["file"] == str(tmp_path / "x.conf")
    assert answer("--config", str(named), "config", "path")[1] == f"{named}\n"


def test_without_settings_a_command_imports_nothing_that_reads_them(tmp_path: Path) -> None:
    probe = (
        "import sys\nfrom aqe_plugin.cli.main import main\ntry: main(['completion', 'bash'])\nexcept SystemExit: pass\n"
    )
    probe += "heavy = {'pydantic_settings', 'aqe_plugin.cli.settings_.resolve', 'kubernetes'}\n"
    probe += "print(heavy & set(sys.modules), file=sys.stderr)"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AQE_PLUGIN__")}
    ran = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=True,
        env={**clean, "XDG_CONFIG_HOME": str(tmp_path)},
    )
    assert ran.stderr == "set()\n"
