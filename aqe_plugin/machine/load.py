"""How busy this machine is."""

from __future__ import annotations

import os


def busy_cores() -> float:
    """How many threads ran or waited for a core in the last minute, on average; 0 where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
