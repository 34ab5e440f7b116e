"""Which runs choose a change, and which have no part in the choice and so may confirm it.

Of many candidates on the same runs, the one that looks best looks better than it is. Half of the applications therefore
choose, and a change must also save time in the other half and in whatever ran since.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from aqe_plugin.tuning.history import DAY_MILLIS
from aqe_plugin.tuning.runs import Run


def choosing(runs: Iterable[Run]) -> list[Run]:
    """The runs that choose; the same on every machine and at any time.

    All runs that an application ends on one day (UTC) are on one side, because they share its data and its hour. An
    application of many days, such as a Thrift Server, gives days to both sides.
    """
    return [run for run in runs if _chooses(run)]


def confirming(runs: Iterable[Run], chosen_at_millis: int) -> list[Run]:
    """The runs without a part in a choice that was made at ``chosen_at_millis``."""
    return [run for run in runs if run.at_millis > chosen_at_millis or not _chooses(run)]


def _chooses(run: Run) -> bool:
    day = run.at_millis // DAY_MILLIS
    return sha256(f"{run.application} {day}".encode("utf-8", "replace")).digest()[0] % 2 == 0
