"""What several modules of tests ask for."""

from __future__ import annotations

from api_server import api
from commands import answer

__all__ = ["answer", "api"]
