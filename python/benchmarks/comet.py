"""Apache DataFusion Comet in a benchmark's session."""

from pathlib import Path

_JARS = Path(__file__).resolve().parents[2] / ".build" / "neighbours"


def comet_session(off_heap: str) -> dict[str, str]:
    """What Comet's documentation asks a session for, from its start; `spark.comet.enabled` switches between queries.

    Args:
        off_heap: memory of its operators, beside the driver's heap, such as `5g`.

    Raises:
        FileNotFoundError: the jar is not there.
    """
    jar = next(_JARS.glob("comet-spark-*.jar"), None)
    if jar is None:
        raise FileNotFoundError(f"{_JARS} has no jar of Comet: run `make neighbour-jars`.")
    return {
        "spark.driver.extraClassPath": str(jar),
        "spark.plugins": "org.apache.spark.CometPlugin",
        "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": off_heap,
    }
