"""Spark's query files, their answers and tables, out of the jar and into the folders where its suite finds them."""

from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from zipfile import ZipFile

_IN_JAR = "sql-tests/"
_TABLES = "test-data/postgresql/"
RESOURCES = Path("sql", "core", "src", "test", "resources")
"""Where they lie in a checkout. The tables are looked for on the class path, and not read from within a jar."""
_INPUTS = f"{_IN_JAR}inputs/"


def extract(jar: Path, home: Path, patterns: Iterable[str]) -> list[str]:
    """Puts the inputs that fit one of the patterns, all answers and all tables below `home` as in a checkout of Spark.

    A `*` in a pattern does not stop at a slash.

    Returns:
        the inputs' names, such as `subquery/in-subquery/in-basic.sql`; the suite makes a test of each file it finds.
    """
    wanted = tuple(patterns)
    inputs: list[str] = []
    with ZipFile(jar) as archive:
        for name in archive.namelist():
            if not name.startswith((_IN_JAR, _TABLES)) or name.endswith("/"):
                continue
            if name.startswith(_INPUTS):
                query = name.removeprefix(_INPUTS)
                if not any(fnmatch(query, pattern) for pattern in wanted):
                    continue
                inputs.append(query)
            archive.extract(name, home / RESOURCES)
    return sorted(inputs)
