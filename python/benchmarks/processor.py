"""The processor time of another process."""

import time
from typing import Any

# Of a process, Linux has a clock for what the scheduler gave to all of its threads (CPUCLOCK_SCHED).
_SCHEDULED = 2


def processor_seconds(context: Any) -> float:
    """Processor time of the JVM that PySpark started, in steps of a nanosecond; 0 where the system has no clock for it.

    It includes the compiler and the collector. In local mode that is all of Spark.
    """
    pid = getattr(getattr(context._gateway, "proc", None), "pid", None)
    if pid is None:
        return 0.0
    try:
        return time.clock_gettime((~pid << 3) | _SCHEDULED)
    except OSError:
        return 0.0
