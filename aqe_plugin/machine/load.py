"""How busy this machine is."""

from __future__ import annotations

import os


def busy_share() -> float:
    """Threads that ran or waited in the last minute, on average, per core; 0 where the system does not say.

    In a container, the threads may be those of the whole machine.
    """
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 0.0
