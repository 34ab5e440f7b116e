"""TPC-DS tables as Parquet, generated once per scale factor and kept."""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from workloads.tpcds.extension import connect

TABLES = (
    "call_center",
    "catalog_page",
    "catalog_returns",
    "catalog_sales",
    "customer",
    "customer_address",
    "customer_demographics",
    "date_dim",
    "household_demographics",
    "income_band",
    "inventory",
    "item",
    "promotion",
    "reason",
    "ship_mode",
    "store",
    "store_returns",
    "store_sales",
    "time_dim",
    "warehouse",
    "web_page",
    "web_returns",
    "web_sales",
    "web_site",
)

# Names the tables that are complete; what it does not name is not there.
_MARKER = "_COMPLETE.json"
_LAYOUT_VERSION = 1
_MIB = 1024 * 1024
# Parquet plus the generator's own database file, measured at scale 1 and 10.
_DISK_BYTES_PER_SCALE = 1000 * _MIB


@dataclass(frozen=True)
class Dataset:
    """Tables of one scale factor: `<folder>/<table>/*.parquet`, facts not partitioned.

    Attributes:
        rows: row count of each table that is there.
    """

    scale: float
    folder: Path
    rows: dict[str, int]

    def has(self, tables: Iterable[str]) -> bool:
        return set(tables) <= self.rows.keys()

    def register(self, spark: Any, tables: Iterable[str] | None = None) -> None:
        """Makes every table, or those of `tables`, a temporary view of `spark` (a `SparkSession`)."""
        for table in self.rows if tables is None else tables:
            spark.read.parquet(str(self.folder / table)).createOrReplaceTempView(table)

    def attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Makes every table a view of `connection`, over the same files."""
        for table in self.rows:
            connection.execute(
                f"create or replace view {table} as from read_parquet('{self.folder / table}/*.parquet')"
            )


@dataclass(frozen=True)
class _Layout:
    """How tables are split into files: small scales get small files, so that there is something to prune."""

    version: int
    row_group_rows: int
    file_bytes: int


def data_folder() -> Path:
    """Where data sets are kept: `$AQE_PLUGIN_DATA`, or `.build/tpcds` of the checkout."""
    configured = os.environ.get("AQE_PLUGIN_DATA")
    return Path(configured) if configured else Path(__file__).resolve().parents[3] / ".build" / "tpcds"


def dataset_folder(scale: float) -> Path:
    """Where the data set of this scale is, or will be."""
    return data_folder() / f"sf{scale:g}"


def ensure_dataset(
    scale: float, report: Callable[[str], None] = lambda _: None, tables: Sequence[str] = TABLES
) -> Dataset:
    """The data set of `scale` with at least `tables`: missing ones are made, and no incomplete table is ever visible.

    Another process that generates the same scale is waited for.

    Args:
        scale: TPC-DS scale factor; 1 is about 400 MB of Parquet.
        report: called with a line for each step.

    Raises:
        OSError: the disk has not enough room.
    """
    folder = dataset_folder(scale)
    existing = _read_marker(folder, scale)
    if existing is None or not existing.has(tables):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent):
            existing = _read_marker(folder, scale)
            if existing is None or not existing.has(tables):
                return _completed(folder, scale, existing, tables, report)
    report(f"TPC-DS scale {scale:g} is there: {folder}")
    return existing


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keeps other processes from generating in `folder`."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _completed(
    folder: Path, scale: float, existing: Dataset | None, tables: Sequence[str], report: Callable[[str], None]
) -> Dataset:
    _check_room(folder.parent, scale)
    if existing is None:
        # Of an older layout, or without its marker.
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    rows = {} if existing is None else dict(existing.rows)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        connection = connect(Path(scratch) / "generator.db")
        try:
            report(f"dsdgen at scale {scale:g} (about {max(1, round(20 * scale))} s)")
            connection.execute(f"call dsdgen(sf={scale})")
            for table in tables:
                if table not in rows:
                    shutil.rmtree(folder / table, ignore_errors=True)
                    rows[table] = write_table(connection, table, folder, scale)
                    _write_marker(folder, scale, rows)
                    report(f"{table}: {rows[table]:,} rows")
        finally:
            connection.close()
    return Dataset(scale=scale, folder=folder, rows=rows)


def write_table(connection: duckdb.DuckDBPyConnection, table: str, folder: Path, scale: float) -> int:
    """Writes `table` to `<folder>/<table>/*.parquet`, cut as tables of that scale are; returns its rows."""
    layout = _layout(scale)
    connection.execute(
        f"copy (from {table}) to '{folder / table}' "
        f"(format parquet, row_group_size {layout.row_group_rows}, file_size_bytes {layout.file_bytes})"
    )
    counted = connection.execute(f"select count(*) from {table}").fetchone()
    return int(counted[0]) if counted else 0


def _layout(scale: float) -> _Layout:
    share = min(1.0, scale)
    return _Layout(
        version=_LAYOUT_VERSION,
        row_group_rows=max(4096, int(1_000_000 * share)),
        file_bytes=max(256 * 1024, int(128 * _MIB * share)),
    )


def tpcds_definition(scale: float) -> str:
    """What the tables of `scale` are made from: the generator, and how tables are cut."""
    return json.dumps({"dsdgen": duckdb.__version__, "layout": layout_definition(scale)})


def layout_definition(scale: float) -> dict[str, int]:
    """How `write_table` cuts the tables of `scale`."""
    return asdict(_layout(scale))


def _write_marker(folder: Path, scale: float, rows: dict[str, int]) -> None:
    partial = folder / f"{_MARKER}.part"
    partial.write_text(json.dumps({"scale": scale, "layout": layout_definition(scale), "rows": rows}, indent=1))
    partial.replace(folder / _MARKER)


def _read_marker(folder: Path, scale: float) -> Dataset | None:
    marker = folder / _MARKER
    if not marker.is_file():
        return None
    stored = json.loads(marker.read_text())
    if stored["layout"] != layout_definition(scale):
        return None
    return Dataset(scale=scale, folder=folder, rows=stored["rows"])


def _check_room(folder: Path, scale: float) -> None:
    needed_bytes = int(_DISK_BYTES_PER_SCALE * scale)
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise OSError(
            f"TPC-DS at scale {scale:g} needs {needed_bytes // _MIB} MiB in {folder}, "
            f"{free_bytes // _MIB} MiB are free; set AQE_PLUGIN_DATA to a larger disk or take a smaller scale"
        )
