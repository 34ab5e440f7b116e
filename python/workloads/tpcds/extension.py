"""A DuckDB connection that knows TPC-DS."""

import importlib.util
from pathlib import Path

import duckdb


def connect(
    database: str | Path = ":memory:", *, threads: int = 2, memory_limit: str = "4GB"
) -> duckdb.DuckDBPyConnection:
    """Opens `database` with the extension loaded from its wheel's own file, without network access.

    Raises:
        FileNotFoundError: the wheel is not installed, or carries no extension for this DuckDB.
    """
    connection = duckdb.connect(str(database), config={"threads": threads, "memory_limit": memory_limit})
    # The caller shows progress; DuckDB's own bar would run over it.
    connection.execute("set enable_progress_bar = false")
    connection.load_extension(str(_extension_file()))
    return connection


def _extension_file() -> Path:
    spec = importlib.util.find_spec("duckdb_extension_tpcds")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    for folder in folders:
        for file in Path(folder).glob(f"extensions/v{duckdb.__version__}/tpcds.duckdb_extension"):
            return file
    raise FileNotFoundError(
        f"no TPC-DS extension for DuckDB {duckdb.__version__}: pip install duckdb-extension-tpcds=={duckdb.__version__}"
    )
