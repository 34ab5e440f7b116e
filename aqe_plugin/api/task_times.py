"""What tasks took, as the application's own status store has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# After this, what was not yet recorded is not counted.
_WAIT_MILLIS = 10_000


def processor_seconds_of(spark: SparkSession, tag: str) -> float | None:
    """The processor time of all tasks of the jobs with this tag; ``None`` in Spark Connect, which does not tell it."""
    context = getattr(spark, "sparkContext", None)
    if context is None:
        return None
    scala: Any = context._jsc.sc()
    scala.listenerBus().waitUntilEmpty(_WAIT_MILLIS)
    store = scala.statusStore()
    jobs = store.jobsList(None)
    tagged = (job for job in map(jobs.apply, range(jobs.size())) if tag in job.jobTags().mkString(" "))
    stages = {job.stageIds().apply(at) for job in tagged for at in range(job.stageIds().size())}
    nanos: int = sum(store.lastStageAttempt(stage).executorCpuTime() for stage in stages)
    return nanos / 1e9
