"""What the tests of dbt share with those of the command line, and what `make neighbours` tells of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

import pytest

from commands import answer

__all__ = ["answer"]

ENVIRONMENT = Path(__file__).resolve().parents[2] / ".build" / "dbt" / "venv"


@pytest.fixture(autouse=True)
def told(record_property: Callable[[str, object], None], request: pytest.FixtureRequest) -> None:
    """The row of the page *Works with*."""
    found = distributions(path=[str(folder) for folder in ENVIRONMENT.glob("lib/*/site-packages")])
    record_property("beside", "dbt-spark")
    record_property("way", "over Thrift" if "thrift" in request.node.name else "its own session")
    record_property("version", next(one.version for one in found if one.name == "dbt-spark"))
    record_property("filter", "yes")
