"""How many cases the tests run: a sample in `make test`, all in `make test-all`."""

from __future__ import annotations

import os

import pytest

__all__ = ["TRIES_ALL", "cases", "only_in_test_all"]

TRIES_ALL = os.environ.get("AQE_PLUGIN_TESTS") == "all"
"""Whether every case runs; the Scala tests read the same variable."""

only_in_test_all = pytest.mark.skipif(not TRIES_ALL, reason="part of make test-all")


def cases(sample: int, *, whole: int) -> int:
    """How many cases a simulation runs."""
    return whole if TRIES_ALL else sample
