"""project/prometheus finds Prometheus, or fetches it, or says what to do."""

from pathlib import Path

import pytest

from tests.build.debian_machine import Machine

pytestmark = pytest.mark.process

_SCRIPT = Path(__file__).resolve().parents[2] / "project" / "prometheus"
_PACKAGE = "prometheus_2.42_amd64.deb"
_UNPACKS = """
mkdir -p "$3/usr/bin"
for program in prometheus promtool; do
  printf '#!%s\\nexit 0\\n' "$BASH" > "$3/usr/bin/$program"
  chmod +x "$3/usr/bin/$program"
done
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_program_on_the_path_is_used(machine: Machine) -> None:
    done = machine.add("prometheus").add("promtool").run(_SCRIPT)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{machine.bin}\n", "")


def test_debians_package_is_unpacked_once(machine: Machine) -> None:
    machine.add("apt-get", f'echo "$@" >> ../asked; : > {_PACKAGE}').add("dpkg-deb", _UNPACKS)
    unpacked = machine.checkout / ".build" / "prometheus" / "usr" / "bin"
    for _ in range(2):
        done = machine.run(_SCRIPT)
        assert (done.returncode, done.stdout) == (0, f"{unpacked}\n")
    asked = (machine.checkout / ".build" / "asked").read_text().splitlines()
    assert len(asked) == 1
    assert asked[0].endswith("download prometheus")
    assert [path.name for path in unpacked.parents[1].parent.iterdir()].count("prometheus") == 1


def test_the_list_of_packages_is_fetched_when_the_package_is_not_found(machine: Machine) -> None:
    listed = machine.checkout / "listed"
    asks = f'if [[ "$*" == *update ]]; then : > {listed}; else [[ -e {listed} ]] && : > {_PACKAGE}; fi'
    machine.add("apt-get", asks).add("dpkg-deb", _UNPACKS)
    assert machine.run(_SCRIPT).returncode == 0
    assert listed.exists()


def test_without_the_program_and_apt_the_script_says_what_to_do(machine: Machine) -> None:
    done = machine.run(_SCRIPT)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "missing: Prometheus, which the tests of deploy/ run" in done.stderr
    assert "(not on PATH; Debian's package could not be unpacked: apt-get and dpkg-deb are not there)" in done.stderr
    assert "get it: Debian/Ubuntu: apt-get install prometheus;" in done.stderr


def test_an_apt_that_fails_is_quoted_and_leaves_nothing_behind(machine: Machine) -> None:
    machine.add("apt-get", "echo 'E: no such package' >&2; exit 100").add("dpkg-deb")
    done = machine.run(_SCRIPT)
    assert done.returncode == 1
    assert "E: no such package" in done.stderr
    assert list((machine.checkout / ".build").iterdir()) == []
