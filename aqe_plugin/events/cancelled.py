"""Which errors say that somebody cancelled a query."""

from __future__ import annotations

import re

# SPARK_JOB_CANCELLED, OPERATION_CANCELED of Spark Connect, and a thread that was interrupted.
_CANCELLED = re.compile(r"\bJob \d+ cancelled\b|\[OPERATION_CANCELED\]|\bjava\.lang\.InterruptedException\b")
_SEVERAL_STAGES = "Multiple failures in stage materialization"


def says_cancelled(message: str) -> bool:
    """Whether an error is a cancelled job, or several in stages that ran side by side, or an interrupted thread.

    Spark itself cancels the other stages when one fails, so a cancellation that is only mentioned later is none.
    """
    first, *rest = message.strip().splitlines() or [""]
    if _SEVERAL_STAGES in first:
        first = next((line for line in rest if line.startswith("Caused by: ")), "")
    return _CANCELLED.search(first) is not None
