"""The ``spark-defaults.conf`` of the PySpark of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from aqe_plugin.conf.syntax.properties import parse_properties


def spark_defaults() -> dict[str, str]:
    """The conf that ``spark-submit`` will read."""
    from pyspark import find_spark_home

    find_home: Any = find_spark_home._find_spark_home
    folder = os.environ.get("SPARK_CONF_DIR") or str(Path(find_home()) / "conf")
    path = Path(folder) / "spark-defaults.conf"
    try:
        return parse_properties(path.read_bytes(), str(path)).items()
    except OSError:
        return {}
