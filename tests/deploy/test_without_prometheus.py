"""A machine without Prometheus: its tests are skipped and say why, and fail only where a change must pass them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.deploy.prometheus_server import REQUIRED, programs_of

_FINDS_NONE = [
    sys.executable,
    "-c",
    "import sys; sys.exit('missing: Prometheus\\n    get it: apt-get install prometheus')",
]


def test_its_tests_are_skipped_with_what_to_do() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"^missing: Prometheus get it: apt-get install prometheus$"):
        programs_of(_FINDS_NONE, {})


def test_where_it_is_required_they_fail_with_what_to_do() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"^missing: Prometheus get it: apt-get install prometheus$"):
        programs_of(_FINDS_NONE, {REQUIRED: "1"})


def test_the_folder_that_is_found_is_taken(tmp_path: Path) -> None:
    assert programs_of([sys.executable, "-c", f"print({str(tmp_path)!r})"], {}) == tmp_path


def test_a_change_must_pass_them() -> None:
    run = Path(__file__).resolve().parents[2] / ".ci" / "run"
    assert f"export {REQUIRED}=1\n" in run.read_text()
