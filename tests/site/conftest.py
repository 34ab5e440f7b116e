"""A browser that looks at the site that `make site` built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.programs import program_of
from tests.ui.browser import Browser

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def browser() -> Browser:
    return Browser(program_of(_ROOT / "project" / "chromium", os.environ))


@pytest.fixture(scope="session")
def site() -> Path:
    folder = _ROOT / ".build" / "site"
    assert (folder / "index.html").is_file(), "make site builds it"
    return folder
