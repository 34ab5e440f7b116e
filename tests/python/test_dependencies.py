"""What works without the package's dependencies, and without its extras."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import aqe_plugin
from aqe_plugin.machine.extras import install_command
from samples import write_log

pytestmark = pytest.mark.process

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(aqe_plugin.__file__).parents[1]
# The names that a distribution is imported by, where it is not its own.
IMPORTED_AS = {"prometheus-client": "prometheus_client", "ruamel.yaml": "ruamel"}
# What dependencies bring along, or were once dependencies.
OTHERS = {"click", "py4j", "pydantic", "pydantic_settings", "shtab"}
BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)

sys.meta_path.insert(0, Blocked())

from pathlib import Path
from aqe_plugin.install import jars
jars.carried_jars = lambda *_: {{"4.1": Path("aqe-plugin-spark-4.1.jar")}}
"""


def names_of(requirements: list[str]) -> set[str]:
    names = (re.split(r"[\[<>=;\s]", requirement)[0] for requirement in requirements)
    return {IMPORTED_AS.get(name, name) for name in names}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DIRECT = names_of(PROJECT["dependencies"])
EXTRAS = {extra: names_of(PROJECT["optional-dependencies"][extra]) for extra in ("metrics", "codecs", "kubernetes")}
OPTIONAL = set[str]().union(*EXTRAS.values(), {"pyspark", "py4j", "pydantic_settings", "shtab"})


def without(names: set[str], code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Runs ``code`` in a fresh process, in which ``names`` cannot be imported."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AQE_PLUGIN__", "SPARK_"))}
    return subprocess.run(
        [sys.executable, "-c", BLOCK.format(names=names) + code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**clean, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent), "COLUMNS": "200"},
    )


def without_dependencies(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    return without(DIRECT | EXTRAS["metrics"] | OTHERS, code, tmp_path)


def without_extras(words: list[str], tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Runs ``aqe-plugin`` in a fresh process with the direct dependencies alone."""
    return without(OPTIONAL, f"from aqe_plugin.__main__ import main\nmain({words!r})", tmp_path)


def test_the_bare_package_has_at_most_nine_direct_dependencies() -> None:
    assert len(PROJECT["dependencies"]) <= 9


def test_a_blocked_dependency_cannot_be_imported(tmp_path: Path) -> None:
    ran = without_dependencies("import typer", tmp_path)
    assert ran.stderr.endswith("ModuleNotFoundError: typer is blocked\n")


def test_configure_adds_the_plugin_without_any_dependency(tmp_path: Path) -> None:
    code = """
class Builder:
    _options = {}
    def config(self, key, value):
        self._options[key] = value
        return self
from types import ModuleType
pyspark = ModuleType("pyspark")
pyspark.__version__, pyspark.SparkContext = "4.1.3", type("SparkContext", (), {"_gateway": None})
home = ModuleType("pyspark.find_spark_home")
home._find_spark_home = lambda: "/nowhere"
sys.modules.update({"pyspark": pyspark, "pyspark.find_spark_home": home})
import aqe_plugin
print(aqe_plugin.configure(Builder(), mode="apply")._options["spark.plugins"])
"""
    ran = without_dependencies(code, tmp_path)
    assert (ran.stdout, ran.stderr) == ("io.aqeplugin.AqePlugin\n", "")


def test_the_session_api_is_imported_and_shown_in_a_notebook_without_any_dependency(tmp_path: Path) -> None:
    code = """
import importlib, pkgutil
import aqe_plugin
from aqe_plugin import api
for module in pkgutil.iter_modules(api.__path__):
    importlib.import_module(f"aqe_plugin.api.{module.name}")
aqe_plugin.AqePlugin
from aqe_plugin.api.counters import Counters
print(Counters({"filters_built": 3})._repr_html_())
"""
    ran = without_dependencies(code, tmp_path)
    assert ran.stderr == ""
    assert re.search("filters_built</td><td[^>]*>3<", ran.stdout)


def test_explain_and_install_work_without_any_extra(tmp_path: Path) -> None:
    explained = without_extras(["explain", str(write_log(tmp_path / "app-1"))], tmp_path)
    assert (explained.returncode, explained.stderr) == (0, "")
    assert "query 7" in explained.stdout
    conf = tmp_path / "spark-defaults.conf"
    jar = tmp_path / f"aqe-plugin-spark-4.1-{aqe_plugin.__version__}.jar"
    jar.touch()
    installed = without_extras(["install", "--target", str(conf), "--jar", str(jar), "--yes"], tmp_path)
    assert installed.returncode == 0, installed.stderr
    assert "spark.plugins io.aqeplugin.AqePlugin" in conf.read_text()


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["run", ".", "--no-checkpoint"], "metrics"),
        (["run", ".", "--checkpoint", "c.db"], "metrics"),
        (["check", "--target", "kubernetes:ns/ConfigMap/c"], "kubernetes"),
        (["path", "jar"], "spark"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_missing_extra_gives_one_line_with_the_command_that_installs_it(
    words: list[str], extra: str, tmp_path: Path
) -> None:
    ran = without_extras(words, tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (3, "", 1)
    assert ran.stderr.endswith(f": {install_command(extra)}.\n")


def test_the_command_that_installs_an_extra_names_packages_of_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = [
        "rich>=13.7",
        "structlog>=24.1; extra == 'metrics'",
        'pyspark[connect]<4.3,>=4.0; extra == "connect"',
        "tomli>=2; python_version < '3.11' and extra == 'metrics'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda _: declared)
    assert install_command("metrics") == "pip install 'structlog>=24.1' 'tomli>=2'"
    assert install_command("connect") == "pip install 'pyspark[connect]<4.3,>=4.0'"
    monkeypatch.setattr(metadata, "requires", lambda _: None)
    assert install_command("spark") == "pip install '.[spark]'"
