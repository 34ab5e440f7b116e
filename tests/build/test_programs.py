"""A machine without Prometheus: its tests are skipped and say why, and fail only where a change must pass them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import REQUIRED, program_of

pytestmark = pytest.mark.process


@pytest.fixture
def finds_none(tmp_path: Path) -> Path:
    return _script(tmp_path, "printf 'missing: Prometheus\\n    get it: apt-get install prometheus\\n' >&2; exit 1")


def _script(folder: Path, body: str) -> Path:
    script = folder / "prometheus"
    script.write_text(f"#!/usr/bin/env bash\n{body}\n")
    script.chmod(0o755)
    return script


@pytest.mark.parametrize("environment", [{}, {REQUIRED: "chromium"}])
def test_tests_without_their_program_are_skipped_with_a_fix(finds_none: Path, environment: dict[str, str]) -> None:
    with pytest.raises(pytest.skip.Exception, match=r"^missing: Prometheus get it: apt-get install prometheus$"):
        program_of(finds_none, environment)


def test_tests_whose_required_program_is_missing_fail_with_a_fix(finds_none: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"^missing: Prometheus get it: apt-get install prometheus$"):
        program_of(finds_none, {REQUIRED: "chromium,prometheus"})


def test_a_program_on_the_path_is_used(tmp_path: Path) -> None:
    assert program_of(_script(tmp_path, f"echo {tmp_path}"), {}) == tmp_path


def test_the_ci_run_requires_prometheus() -> None:
    run = Path(__file__).resolve().parents[2] / ".ci" / "run"
    assert f"export {REQUIRED}=prometheus\n" in run.read_text()
