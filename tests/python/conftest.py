"""What several modules of tests ask for."""

from __future__ import annotations

from commands import answer

__all__ = ["answer"]
