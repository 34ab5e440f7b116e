"""What a release publishes, as far as no jar must be compiled for it: `make test-dist` looks at the rest."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from aqe_plugin import __version__
from publishing.bill_of_materials import bill_of_materials
from publishing.checksums import checksums

ROOT = Path(__file__).resolve().parents[2]
JAR = f"aqe_plugin/jars/aqe-plugin-spark-4.1-{__version__}.jar"
PINNED = ROOT / "deploy" / "docker" / "requirements.txt"
MADE_AT = datetime(2026, 1, 1, tzinfo=timezone.utc)


def packages(folder: Path) -> Path:
    """Wheel and sdist of the package with a jar of few bytes, made in ``folder``."""
    shutil.copytree(ROOT / "aqe_plugin", folder / "aqe_plugin", ignore=shutil.ignore_patterns("jars", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, folder)
    (folder / JAR).parent.mkdir()
    (folder / JAR).write_bytes(b"a jar")
    (folder / ".gitignore").write_text("aqe_plugin/jars/\n")
    command = [sys.executable, "-m", "hatchling", "build"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "dist"


@pytest.mark.process
def test_packages_bill_and_checksums_are_the_same_each_time(tmp_path: Path) -> None:
    made = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        dist = packages(tmp_path / name)
        (wheel,) = dist.glob("*.whl")
        (dist / "bill.cdx.json").write_text(bill_of_materials(wheel, PINNED, MADE_AT))
        (dist / "SHA256SUMS").write_text(checksums(dist))
        checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=dist, check=False)
        assert checked.returncode == 0
        made.append((dist / "SHA256SUMS").read_text())
    assert made[0] == made[1]
    assert [line.rpartition(".")[2] for line in made[0].splitlines()] == ["whl", "gz", "json"]


@pytest.mark.process
def test_the_bill_of_materials_names_the_jar_and_every_required_package(tmp_path: Path) -> None:
    (wheel,) = packages(tmp_path).glob("*.whl")
    bill = json.loads(bill_of_materials(wheel, PINNED, MADE_AT))
    assert {"msgspec", "rich", "typer", JAR} <= {component["name"] for component in bill["components"]}
    assert bill["metadata"]["component"]["version"] == __version__
    assert bill["metadata"]["timestamp"].startswith("2026-01-01")
