"""Settings: what the environment and the settings file set, which of them wins, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from aqe_plugin.cli.app import app
from aqe_plugin.cli.settings import PATH, Setting, settings_of
from aqe_plugin.errors import ConfError
from commands import Answer

ROOT = typer.main.get_command(app)
EVERY = settings_of(ROOT, {}, None)
# One of them is allowed for any option, and is not its default.
VALUES = ("/x", "0.5", "7", "apply", "json", "2.5", "20000")


def found(environment: dict[str, str], file: Path | None = None) -> dict[tuple[str, str], Setting]:
    return {(one.command, one.name): one for one in settings_of(ROOT, environment, file)}


def refused(environment: dict[str, str], file: Path | None = None) -> str:
    with pytest.raises(ConfError) as error:
        settings_of(ROOT, environment, file)
    return str(error.value)


def is_allowed(option: Any, value: object) -> bool:
    try:
        option.process_value(typer.Context(ROOT), value)
    except typer.BadParameter:
        return False
    return True


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "c.toml"


# What can be set


@pytest.mark.parametrize("one", EVERY, ids=lambda one: f"{one.command}.{one.name}")
def test_every_option_of_every_command_is_set_by_a_variable_and_by_the_file(one: Setting, toml: Path) -> None:
    if one.option.is_flag:
        value: Any = not one.value
    elif one.option.multiple:
        value = ["/x", "/y=b"]
    else:
        value = next(text for text in VALUES if is_allowed(one.option, text) and text != str(one.value))
    variable = f"AQE_PLUGIN__{one.command}__{one.name}".upper().replace("-", "_")
    by_variable = found({variable: value if isinstance(value, str) else json.dumps(value)})[one.command, one.name]
    toml.write_text(f"[{one.command}]\n{one.name} = {json.dumps(value)}\n")
    by_file = found({}, toml)[one.command, one.name]
    assert by_variable.place == variable
    assert by_file.place == f"{toml}: [{one.command}] {one.name}"
    assert str(by_file.value).lower() == str(by_variable.value).lower() != str(one.value).lower()


def test_a_value_is_set_for_all_commands_at_once_and_a_switch_is_not(toml: Path) -> None:
    toml.write_text('why = "nightly"\n')
    settings = found({}, toml)
    assert settings["install", "why"].value == settings["rollback", "why"].value == "nightly"
    for name in ("YES", "FORMAT"):
        assert refused({f"AQE_PLUGIN__{name}": "1"}).startswith(f"AQE_PLUGIN__{name}: no such setting; did you mean")


def test_a_required_option_may_be_set_instead_of_given(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer("pipeline", "compact")[0] == 2
    monkeypatch.setenv("AQE_PLUGIN__PIPELINE_COMPACT__TABLES", "/no/such")
    monkeypatch.setattr("aqe_plugin.cli.pipeline.job_session", lambda *_, **__: _raise(ConfError("ran")))
    assert answer("pipeline", "compact") == (5, "", "Starting Spark ...\nran\n")


def _raise(error: Exception) -> Any:
    raise error


def test_every_option_that_is_a_path_is_relative_to_the_settings_file(toml: Path) -> None:
    paths = {one.name for one in EVERY if one.option.metavar == PATH}
    expected = {"target", "checkpoint", "event-log", "html", "jar", "output", "plot", "report", "setup", "values"}
    assert paths == expected
    toml.write_text('target = "conf/a.conf"\n[check]\njar = "/abs/a.jar"\n')
    settings = found({}, toml)
    assert settings["install", "target"].value == f"{toml.parent}/conf/a.conf"
    assert settings["check", "jar"].value == "/abs/a.jar"
    address = "kubernetes:ns/ConfigMap/c"
    toml.write_text(f'target = "{address}"\n')
    assert found({}, toml)["install", "target"].value == address
    assert found({"AQE_PLUGIN__TARGET": "a.conf"})["install", "target"].value == "a.conf"


def test_an_empty_variable_sets_nothing_and_those_of_kubernetes_are_ignored() -> None:
    kubernetes = {"AQE_PLUGIN_EXPORTER_PORT": "tcp://10.0.0.1:9417", "AQE_PLUGIN_EXPORTER_SERVICE_HOST": "x"}
    settings = found({"AQE_PLUGIN__TARGET": "", **kubernetes})
    assert {one.place for one in settings.values()} == {""}


# Which one wins


def test_the_environment_wins_over_the_file_and_one_command_over_all(toml: Path) -> None:
    toml.write_text('why = "file"\n[install]\nwhy = "file, install"\n')
    settings = found({}, toml)
    assert (settings["install", "why"].value, settings["rollback", "why"].value) == ("file, install", "file")
    everywhere = {"AQE_PLUGIN__WHY": "variable"}
    assert found(everywhere, toml)["install", "why"].value == "variable"
    both = {**everywhere, "AQE_PLUGIN__INSTALL__WHY": "variable, install"}
    assert found(both, toml)["install", "why"].value == "variable, install"


# What is refused


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("RNU__PORT", "1", r"RNU__PORT: no such setting; did you mean AQE_PLUGIN__RUN__PORT\?"),
        ("ZZZ", "1", r"ZZZ: no such setting; aqe-plugin config "),
        ("ROLLOUT__SET", "x=1", r'ROLLOUT__SET: expected a list such as \["a", "b"\]\.'),
    ],
)
def test_an_unknown_variable_is_refused_with_what_is_meant(variable: str, value: str, message: str) -> None:
    assert re.match(f"AQE_PLUGIN__{message}", refused({f"AQE_PLUGIN__{variable}": value}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nprot = 1", r"\[run\] prot: no such setting; did you mean \[run\] port\?"),
        ("[rnu]\nport = 1", r"\[rnu\] port: no such setting; did you mean \[run\] port\?"),
        ("max_step = 2", r"max_step: no such setting; did you mean max-step\?"),
        ("yes = true", r"yes: no such setting; did you mean \[\w+\] yes\?"),
        ("[rollout]\nset = 'x=1'", r"\[rollout\] set: expected a list"),
        ("[run.port]\nx = 1", r"\[run\] port: expected one value\."),
        ("[run]\naddress = ['a']", r"\[run\] address: expected one value\."),
    ],
)
def test_an_unknown_key_of_the_file_is_refused_with_its_table(text: str, message: str, toml: Path) -> None:
    toml.write_text(text)
    assert re.match(f"{re.escape(str(toml))}: {message}", refused({}, toml))


RUN, RECOMMEND = ("run", "/x", "--no-checkpoint"), ("recommend", "/x")


@pytest.mark.parametrize(
    ("words", "variable", "value"),
    [
        (RUN, "RUN__PORT", "99999"),
        (RUN, "PORT", "nine"),
        (("install",), "INSTALL__MODE", "on"),
        (("install",), "INSTALL__YES", "maybe"),
        (RECOMMEND, "MAX_STEP", "inf"),
        (RECOMMEND, "MAX_STEP", "nan"),
    ],
)
def test_a_wrong_value_is_refused_by_the_commands_that_have_it(
    words: tuple[str, ...], variable: str, value: str, file: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, _, name = variable.lower().replace("_", "-").rpartition("--")
    file.write_text((f"[{command}]\n" if command else "") + f'{name} = "{value}"\n')
    code, _, err = answer(*words)
    assert (code, err.startswith(f"{file}: "), f"{name} is not allowed: " in err) == (5, True, True), err
    file.unlink()
    monkeypatch.setenv(f"AQE_PLUGIN__{variable}", value)
    code, _, err = answer(*words)
    assert (code, err.startswith(f"AQE_PLUGIN__{variable} is not allowed: ")) == (5, True), err
    assert answer("history", "--target", "/x.conf")[0] == 0


def test_a_file_that_is_not_toml_is_refused_with_the_place(toml: Path) -> None:
    toml.write_text("[run]\nport = \n")
    assert re.match(rf"{re.escape(str(toml))}: not TOML: .*line 2", refused({}, toml))
    toml.write_bytes(b"a = '\xff'")
    assert re.match(rf"{re.escape(str(toml))}: not TOML: .*position 5", refused({}, toml))


# The command line


@pytest.fixture
def file(answer: Answer) -> Path:
    """The user's settings file, in a folder that exists."""
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
        code, out, err = answer("check", "--format", "json", *words)
        assert code == 0, err
        return str(json.loads(out.splitlines()[0])["found"])

    file.write_text(f'target = "{names["file"]}"\n')
    assert target() == str(names["file"])
    monkeypatch.setenv("AQE_PLUGIN__TARGET", str(names["variable"]))
    assert target() == str(names["variable"])
    assert target("--target", str(names["flag"])) == str(names["flag"])
    file.write_text('[check]\nformat = "conf"\n')
    assert answer("check")[1] == ""


def test_config_show_says_what_sets_each_value(file: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("[run]\nport = 9000\n")
    monkeypatch.setenv("AQE_PLUGIN__RUN__ADDRESS", "::1")
    shown = [json.loads(line) for line in answer("config", "run", "--format", "json")[1].splitlines()]
    assert [(one["setting"], one["value"], one["from"], one["where"]) for one in shown][2:5] == [
        ("run.port", "9000", "file", f"{file}: [run] port"),
        ("run.address", "::1", "environment", "AQE_PLUGIN__RUN__ADDRESS"),
        ("run.applications", 100, "default", None),
    ]
    code, out, _ = answer("config")
    assert code == 0
    assert all(f"{one.command}.{one.name}" in out for one in EVERY)


def test_config_show_hides_every_secret(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "RUN__HISTORY_TOKEN": "hunter2",
        "RUN__HISTORY_PASSWORD": "hunter2",
        "HADOOP_CONF": '["fs.s3a.secret.key=hunter2\\nhunter2", "fs.s3a.endpoint=http://minio:9000"]',
        "TARGET": "sc://host/;session_id=4;token=hunter2",
    }.items():
        monkeypatch.setenv(f"AQE_PLUGIN__{name}", value)
    for words in ((), ("--format", "json")):
        for command, secrets in (("run", 3), ("rollout", 2)):
            code, out, _ = answer("config", command, *words)
            assert (code, "hunter2" in out, "http://minio:9000" in out) == (0, False, True)
            assert out.count("(hidden)") == secrets


def test_every_command_but_help_refuses_an_unknown_setting(file: Path, answer: Answer) -> None:
    file.write_text("[run]\nprot = 99999\n")
    code, out, err = answer("config")
    assert (code, out) == (5, "")
    assert err.startswith(f"{file}: [run] prot: ")
    assert answer("history") == (5, "", err)
    assert answer("run", "--help")[0] == 0
    file.unlink()
    assert answer("config", "rnu")[0] == 5


def test_a_settings_file_that_is_named_must_exist(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "mine.toml"
    message = f"{named}: the settings file cannot be read (No such file or directory).\n"
    assert answer("--config", str(named), "check") == (4, "", message)
    assert answer("--config", str(named), "config") == (4, "", message)
    named.write_text('[check]\ntarget = "x.conf"\nformat = "json"\n')
    assert json.loads(answer("--config", str(named), "check")[1].splitlines()[0])["found"].startswith(
        str(tmp_path / "x.conf")
    )
    monkeypatch.setenv("AQE_PLUGIN__CONFIG", str(named))
    assert str(tmp_path / "x.conf") in answer("check")[1]


def test_jar_path_takes_its_version_from_the_settings_too(file: Path, answer: Answer) -> None:
    file.write_text('[path]\nspark = "four"\n')
    code, _, err = answer("path", "jar")
    assert (code, err.partition(":")[0]) == (5, "'four' is not a Spark version")


@pytest.mark.process
@pytest.mark.parametrize(
    "command",
    [
        ("path", "jar", "--spark", "4.1"),
        (
            "path",
            "jar",
        ),
    ],
)
def test_a_wrong_setting_of_another_command_stops_no_script(
    command: tuple[str, ...], file: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('[run]\nstore = "gone.db"\n[path]\nspark = "4.1"\n')
    monkeypatch.setenv("AQE_PLUGIN__PORT", "99999")
    assert answer(*command)[0] == 0


@pytest.mark.process
def test_without_settings_a_command_imports_no_reader_of_toml(tmp_path: Path) -> None:
    probe = "import sys\nfrom aqe_plugin.cli.main import main\ntry: main(['path', 'script'])\nexcept SystemExit: pass\n"
    probe += "print({'tomllib', 'tomli', 'kubernetes'} & set(sys.modules), file=sys.stderr)"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AQE_PLUGIN__")}
    ran = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=True,
        env={**clean, "XDG_CONFIG_HOME": str(tmp_path)},
    )
    assert ran.stderr == "set()\n"
