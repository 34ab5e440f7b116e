"""Tables of benchmarks that are written once."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def parquet_once(folder: Path, frame: "DataFrame") -> "DataFrame":
    """The frame's rows as Parquet files in `folder`, which are written unless they are all there."""
    if not (folder / "_SUCCESS").exists():
        shutil.rmtree(folder, ignore_errors=True)
        frame.write.parquet(str(folder))
    return frame.sparkSession.read.parquet(str(folder))
