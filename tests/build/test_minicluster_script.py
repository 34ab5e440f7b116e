"""project/minicluster finds the jar with HDFS's servers, or has Maven fetch it, or says what to do."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

_SCRIPT = Path(__file__).resolve().parents[2] / "project" / "minicluster"
_FETCHES = """
for word in "$@"; do
  case "$word" in -DoutputDirectory=*) touch "${word#*=}/hadoop-client-minicluster-3.4.2.jar";; esac
done
"""


def run(folder: Path, mvn: str | None) -> subprocess.CompletedProcess[str]:
    """Runs it in an empty checkout, with a Maven of that body alone on the path."""
    programs, checkout = folder / "bin", folder / "checkout"
    for made in (programs, checkout):
        made.mkdir(exist_ok=True)
    for command in ("bash", "mkdir", "mktemp", "rm", "mv", "touch"):
        found = shutil.which(command)
        assert found is not None
        (programs / command).unlink(missing_ok=True)
        (programs / command).symlink_to(found)
    (programs / "mvn").unlink(missing_ok=True)
    if mvn is not None:
        (programs / "mvn").write_text(f"#!{shutil.which('bash')}\n{mvn}\n")
        (programs / "mvn").chmod(0o755)
    words = [str(programs / "bash"), str(_SCRIPT)]
    return subprocess.run(words, cwd=checkout, env={"PATH": str(programs)}, capture_output=True, text=True, check=False)


def test_the_jar_is_fetched_once(tmp_path: Path) -> None:
    jar = tmp_path / "checkout" / ".build" / "hadoop-client-minicluster-3.4.2.jar"
    for mvn in (_FETCHES, None):
        done = run(tmp_path, mvn)
        assert (done.returncode, done.stdout) == (0, f"{jar}\n")
    assert [path.name for path in jar.parent.iterdir()] == [jar.name]


@pytest.mark.parametrize(("mvn", "why"), [(None, "mvn is not there"), ("echo 'no network'; exit 1", "no network")])
def test_a_failed_fetch_says_why_and_leaves_nothing(tmp_path: Path, mvn: str | None, why: str) -> None:
    done = run(tmp_path, mvn)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Maven could not fetch it: {why}" in done.stderr
    assert not list((tmp_path / "checkout").glob(".build/*"))


def test_the_version_is_that_of_sparks_client() -> None:
    pyspark = pytest.importorskip("pyspark")
    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    version = re.search(r"^version=(.*)$", _SCRIPT.read_text(), re.MULTILINE)
    assert version is not None
    assert client.name == f"hadoop-client-api-{version[1]}.jar"
