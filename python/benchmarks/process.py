"""What another process has taken of the machine."""

import time
from pathlib import Path
from typing import Any

# Of a process, Linux has a clock for what the scheduler gave to all of its threads (CPUCLOCK_SCHED).
_SCHEDULED = 2


def processor_seconds(context: Any) -> float:
    """Processor time of the JVM that PySpark started, in steps of a nanosecond; 0 where the system has no clock for it.

    It includes the compiler and the collector. In local mode that is all of Spark.
    """
    pid = _pid(context)
    if pid is None:
        return 0.0
    try:
        return time.clock_gettime((~pid << 3) | _SCHEDULED)
    except OSError:
        return 0.0


def bytes_read(context: Any) -> int:
    """Bytes that the JVM has read of files and sockets, cached by the system or not; 0 where it does not count them."""
    try:
        lines = Path(f"/proc/{_pid(context)}/io").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.removeprefix("rchar: ")) for line in lines if line.startswith("rchar: "))


def _pid(context: Any) -> int | None:
    return getattr(getattr(context._gateway, "proc", None), "pid", None)
