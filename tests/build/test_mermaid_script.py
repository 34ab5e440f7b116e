"""project/mermaid finds Mermaid, or fetches the one that is wanted, or says what to do."""

from pathlib import Path

import pytest

from tests.build.debian_machine import Machine

pytestmark = pytest.mark.process

_SCRIPT = Path(__file__).resolve().parents[2] / "project" / "mermaid"
_VERSION = _SCRIPT.read_text().partition("\nversion=")[2].partition("\n")[0]
_SUM = _SCRIPT.read_text().partition("\nsha256=")[2].partition("\n")[0]
_PACKS = f'echo "$@" >> .build/asked; : > "$4/mermaid-{_VERSION}.tgz"'
_UNPACKS = 'mkdir -p "$4/package/dist"; : > "$4/package/dist/mermaid.min.js"'


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_package_is_fetched_once(machine: Machine) -> None:
    machine.add("npm", _PACKS).add("tar", _UNPACKS).add("sha256sum", f'echo "{_SUM}  $1"')
    script = machine.checkout / ".build" / "mermaid" / f"mermaid-{_VERSION}.min.js"
    for _ in range(2):
        done = machine.run(_SCRIPT)
        assert (done.returncode, done.stdout) == (0, f"{script}\n")
    (asked,) = (machine.checkout / ".build" / "asked").read_text().splitlines()
    assert asked.startswith("pack ")
    assert asked.endswith(f" mermaid@{_VERSION}")
    assert list(script.parent.iterdir()) == [script]


def test_another_package_than_the_one_that_is_wanted_is_refused(machine: Machine) -> None:
    done = machine.add("npm", _PACKS).add("tar", _UNPACKS).add("sha256sum", 'echo "abc  $1"').run(_SCRIPT)
    assert (done.returncode, done.stdout) == (1, "")
    assert "its checksum is another one" in done.stderr
    assert list((machine.checkout / ".build" / "mermaid").iterdir()) == []


def test_without_npm_the_script_says_what_to_do(machine: Machine) -> None:
    done = machine.run(_SCRIPT)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"missing: Mermaid {_VERSION}, which draws the diagrams of the site (npm is not there)" in done.stderr
    assert "get it: Debian/Ubuntu: apt-get install npm;" in done.stderr
