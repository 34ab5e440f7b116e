"""project/chromium finds Chromium, or unpacks it with the libraries that are lacking, or says what to do."""

from pathlib import Path

import pytest

from tests.build.debian_machine import Machine

pytestmark = pytest.mark.process

_SCRIPT = Path(__file__).resolve().parents[2] / "project" / "chromium"
_LISTS = """
if [[ "$*" == *--simulate* ]]; then
  printf '%s\\n' 'Inst libpulse0 (16.1 Debian [amd64])' 'Inst chromium-headless-shell (156 Debian [amd64])'
  echo 'Conf libpulse0 (16.1 Debian [amd64])'
fi
"""
_DOWNLOADS = """
if [[ "$*" == *download* ]]; then
  echo "$@" >> ../../asked
  for name in "${@: -2}"; do : > "${name}_1.deb"; done
fi
"""
_UNPACKS = """
mkdir -p "$3/usr/lib/chromium" "$3/usr/lib/x86_64-linux-gnu/pulseaudio"
printf '#!%s\\necho "$LD_LIBRARY_PATH"\\n' "$BASH" > "$3/usr/lib/chromium/chromium-headless-shell"
chmod +x "$3/usr/lib/chromium/chromium-headless-shell"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("name", ["chromium", "chromium-headless-shell", "google-chrome"])
def test_the_program_on_the_path_is_used(machine: Machine, name: str) -> None:
    done = machine.add(name).run(_SCRIPT)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{machine.bin / name}\n", "")


def test_debians_packages_are_unpacked_once_with_what_is_not_installed(machine: Machine) -> None:
    machine.add("apt-get", _LISTS + _DOWNLOADS).add("dpkg-deb", _UNPACKS)
    launcher = machine.checkout / ".build" / "chromium" / "chromium"
    for _ in range(2):
        done = machine.run(_SCRIPT)
        assert (done.returncode, done.stdout) == (0, f"{launcher}\n"), done.stderr
    asked = (machine.checkout / "asked").read_text().splitlines()
    assert len(asked) == 1
    assert asked[0].endswith("download libpulse0 chromium-headless-shell")
    assert [path.name for path in launcher.parents[1].iterdir()] == ["chromium"]


def test_the_unpacked_program_gets_the_path_of_its_libraries(machine: Machine) -> None:
    machine.add("apt-get", _LISTS + _DOWNLOADS).add("dpkg-deb", _UNPACKS)
    launcher = Path(machine.run(_SCRIPT).stdout.strip())
    libraries = launcher.parent / "usr" / "lib" / "x86_64-linux-gnu"
    assert machine.run(launcher).stdout == f"{libraries}:{libraries}/pulseaudio:\n"


def test_the_list_of_packages_is_fetched_when_a_package_is_not_found(machine: Machine) -> None:
    listed = machine.checkout / "listed"
    asks = f'if [[ "$*" == *update ]]; then : > {listed}; fi\n[[ -e {listed} ]] || exit 100\n'
    machine.add("apt-get", asks + _LISTS + _DOWNLOADS).add("dpkg-deb", _UNPACKS)
    assert machine.run(_SCRIPT).returncode == 0
    assert listed.exists()


def test_without_the_program_and_apt_the_script_says_what_to_do(machine: Machine) -> None:
    done = machine.run(_SCRIPT)
    assert (done.returncode, done.stdout) == (1, "")
    assert "missing: Chromium, in which the tests look at the Spark UI" in done.stderr
    assert "apt-get and dpkg-deb are not there" in done.stderr
    assert "get it: Debian/Ubuntu: apt-get install chromium;" in done.stderr


def test_an_apt_that_fails_is_quoted_and_leaves_nothing_behind(machine: Machine) -> None:
    machine.add("apt-get", "echo 'E: no such package' >&2; exit 100").add("dpkg-deb")
    done = machine.run(_SCRIPT)
    assert done.returncode == 1
    assert "E: no such package" in done.stderr
    assert list((machine.checkout / ".build").iterdir()) == []
