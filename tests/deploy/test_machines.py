"""deploy/standalone, deploy/yarn and deploy/docker: files for machines, held against the package they speak of."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from aqe_plugin import __version__
from aqe_plugin.conf.keys import problem_of
from aqe_plugin.errors import ConfError, SetupError, StateError
from commands import Answer
from tests.deploy.prometheus_server import DEPLOY

ROOT = DEPLOY.parent
CONFS = [DEPLOY / "standalone" / "spark-defaults.conf", DEPLOY / "yarn" / "spark-defaults.conf"]
UNIT = DEPLOY / "standalone" / "aqe-plugin-exporter.service"
ROLLOUT_DROP_IN = UNIT.with_name(f"{UNIT.name}.d") / "rollout.conf"
DOCKERFILE = (DEPLOY / "docker" / "Dockerfile").read_text()
REQUIREMENTS = (DEPLOY / "docker" / "requirements.txt").read_text()
PROJECT = ProjectMetadata(str(ROOT), PluginManager()).core
ASKED = [
    *PROJECT.dependencies,
    *(one for extra in ("codecs", "metrics") for one in PROJECT.optional_dependencies[extra]),
]


def entries(conf: Path) -> dict[str, str]:
    lines = [line for line in conf.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(maxsplit=1) for line in lines)


@pytest.mark.parametrize("conf", CONFS, ids=lambda path: str(path.parent.name))
def test_the_example_spark_defaults_has_the_lines_of_install(conf: Path, tmp_path: Path, answer: Answer) -> None:
    file = tmp_path / "spark-defaults.conf"
    file.write_bytes(conf.read_bytes())
    settings = entries(conf)
    own = {key: value for key, value in settings.items() if key.startswith("spark.aqePlugin.")}
    assert own == {"spark.aqePlugin.mode": "observe"}
    assert not any(problem_of(key, value) for key, value in own.items())
    assert settings["spark.eventLog.enabled"] == "true"
    code, out, err = answer("install", "--target", str(file), "--jar", settings["spark.jars"])
    assert (code, out) == (0, "")
    assert err == f"Nothing to do: {file} is as install would leave it.\n"


@pytest.mark.parametrize(
    "path", sorted(path for path in DEPLOY.rglob("*") if path.is_file()), ids=lambda path: path.name
)
def test_every_file_names_the_version_of_the_package(path: Path) -> None:
    text = path.read_text()
    said = re.findall(r"aqe-plugin-spark-\d\.\d-([\d.]+\d)\.jar|aqe_plugin-([\d.]+\d)-py3| aqe-plugin:([\d.]+\d)", text)
    assert {version for versions in said for version in versions if version} <= {__version__}


def setting(file: Path, name: str) -> list[str]:
    return [line.partition("=")[2] for line in file.read_text().splitlines() if line.startswith(f"{name}=")]


def unit_lines(name: str) -> list[str]:
    return setting(UNIT, name)


def test_the_unit_starts_the_exporter_as_the_command_line_takes_it(answer: Answer) -> None:
    (start,) = unit_lines("ExecStart")
    program, *words = shlex.split(start)
    assert program.endswith("/bin/aqe-plugin")
    code, _, err = answer(*(word.replace("/var/log/spark-events", "/no/such/folder") for word in words))
    assert (code, err) == (4, "/no/such/folder: no such folder; give the folder that spark.eventLog.dir names.\n")
    assert entries(CONFS[0])["spark.eventLog.dir"] == f"file://{words[1]}"
    (rollouts,) = [one for one in setting(ROLLOUT_DROP_IN, "ExecStart") if one]
    assert shlex.split(rollouts) == [*shlex.split(start), "--tune-every", "24", "--rollout"]
    # The one folder that the unit may write.
    (state,) = unit_lines("StateDirectory")
    assert Path(words[words.index("--checkpoint") + 1]).parent == Path("/var/lib") / state


def test_the_unit_does_not_restart_in_vain_and_runs_without_privileges() -> None:
    assert unit_lines("Restart") == ["on-failure"]
    (never,) = unit_lines("RestartPreventExitStatus")
    # 2: the command line is not understood.
    lasting = (SetupError, ConfError, StateError)
    assert {*map(int, never.split())} == {2, *(error.exit_code for error in lasting)}
    assert unit_lines("DynamicUser") == unit_lines("NoNewPrivileges") == ["yes"]
    assert unit_lines("ProtectSystem") == ["strict"]
    assert unit_lines("CapabilityBoundingSet") == [""]


@pytest.mark.process
def test_systemd_accepts_the_unit_if_it_is_installed(tmp_path: Path) -> None:
    systemd = shutil.which("systemd-analyze")
    unit, drop_ins = tmp_path / UNIT.name, tmp_path / f"{UNIT.name}.d"
    drop_ins.mkdir()
    for file in (UNIT, *UNIT.with_name(f"{UNIT.name}.d").iterdir()):
        # The command must be there for systemd; its own is on the machine that the unit is for.
        text = file.read_text().replace("/opt/aqe-plugin/bin/aqe-plugin", "/bin/true")
        # What the drop-in offers in place of other lines is checked too.
        text = re.sub(r"(?m)^# (?=(Environment|LoadCredential)=)", "", text)
        (unit if file == UNIT else drop_ins / file.name).write_text(text)
    commands = [[systemd, "verify", str(unit)]] if systemd is not None else []
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def pins(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def asked_by(package: str, version: str) -> list[Requirement]:
    """What ``package`` asks for in turn; nothing when another version of it is installed here."""
    if metadata.version(package) != version:
        return []
    asked = [Requirement(text) for text in metadata.requires(package) or []]
    return [requirement for requirement in asked if applies(requirement)]


def applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def test_the_image_pins_every_required_package_to_an_allowed_version() -> None:
    image = pins(REQUIREMENTS)
    inherited = [requirement for package, version in image.items() for requirement in asked_by(package, version)]
    for requirement in (*filter(applies, map(Requirement, ASKED)), *inherited):
        name = canonicalize_name(requirement.name)
        assert name in image
        assert requirement.specifier.contains(image[name]), str(requirement)


def test_the_image_pins_no_unrequired_package() -> None:
    image = pins(REQUIREMENTS)
    asked = {canonicalize_name(Requirement(text).name) for text in ASKED}
    asked |= {canonicalize_name(one.name) for pin in image.items() for one in asked_by(*pin)}
    assert set(image) <= asked


def test_the_image_has_the_versions_that_figures_were_measured_with() -> None:
    measured = pins((ROOT / "python" / "constraints.txt").read_text())
    assert all(measured.get(name, version) == version for name, version in pins(REQUIREMENTS).items())


def test_the_image_is_pinned_and_small_and_does_not_run_as_root() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", bases[0])
    last = DOCKERFILE[DOCKERFILE.rindex("\nFROM") :]
    assert re.search(r"^USER [1-9]\d{4}:[1-9]\d{4}$", last, re.MULTILINE)
    assert "RUN" not in last
    assert not re.search(r"\b(ADD|curl|wget|latest|apt-get)\b", DOCKERFILE)
    assert DOCKERFILE.count("--no-deps") == DOCKERFILE.count("pip install") == 2
    copied = re.findall(r"^COPY (?!--from)(\S+)", DOCKERFILE, re.MULTILINE)
    assert copied == ["deploy/docker/requirements.txt", f"dist/aqe_plugin-{__version__}-py3-none-any.whl"]
