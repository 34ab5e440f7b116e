"""The tables, computed from row numbers: the same on every machine."""

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from workloads.tpcds.data import layout_definition, write_table
from workloads.tpcds.extension import connect

# Rows at scale 1.
_EVENTS = 4_000_000
_USERS = 200_000
_ITEMS = 20_000
_CLICKS = 800_000
# Half of the events have one account, as those without a login often have.
_HEAVY_SHARE = 0.5


def _uniform(salt: int) -> str:
    """A number in [0, 1) that depends on the row `i` alone."""
    return f"((md5_number_lower(i || '-{salt}') >> 11) / 9007199254740992.0)"


def _zipf(keys: int, salt: int) -> str:
    """A key from 0 to `keys` - 1; key k has about 1 / (k + 1) of the rows of key 0."""
    return f"cast(floor(pow({keys}.0, {_uniform(salt)})) as bigint) - 1"


def _even(keys: int, salt: int) -> str:
    return f"cast(floor({_uniform(salt)} * {keys}) as bigint)"


def _code(number: str) -> str:
    return f"'user-' || lpad(cast({number} as varchar), 12, '0')"


def _price(number: str) -> str:
    return f"cast(cast({number} as decimal(16, 0)) / 100 as decimal(18, 2))"


def _tables(scale: float) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Table → its rows and its columns over `i`, the number of a row."""
    users, items = max(100, int(_USERS * scale)), max(50, int(_ITEMS * scale))
    account = f"case when {_uniform(3)} < {_HEAVY_SHARE} then 0 else {_even(users, 4)} end"
    return {
        "events": (
            int(_EVENTS * scale),
            (
                "i as event_id",
                f"{_zipf(users, 1)} as user_id",
                f"{_even(items, 2)} as item_id",
                f"{account} as account_id",
                f"{_even(400, 5)} as region_id",
                # A region belongs to one country, so the pair has as many values as there are regions.
                f"{_even(400, 5)} // 20 as country_id",
                f"{_code(_zipf(users, 1))} as user_code",
                f"{_price(_even(items, 2))} as price_code",
                f"cast({_uniform(6)} * 1000 as decimal(12, 2)) as amount",
                "repeat(chr(97 + cast(i % 26 as int)), 60) as note",
            ),
        ),
        "users": (
            users,
            (
                "i as user_id",
                f"{_code('i')} as user_code",
                f"{_even(50, 11)} as segment",
                "cast(i % 1000 as int) as cohort",
                "repeat(chr(65 + cast(i % 26 as int)), 300) as profile",
            ),
        ),
        "items": (items, ("i as item_id", f"{_price('i')} as price_code", f"{_zipf(100, 21)} as category")),
        "accounts": (users, ("i as account_id", f"{_even(200, 31)} as plan", "i = 0 as is_anonymous")),
        "regions": (400, ("i as region_id", "i // 20 as country_id", f"{_even(5, 41)} as zone")),
        "clicks": (
            int(_CLICKS * scale),
            (
                "i as click_id",
                f"{_zipf(users, 51)} as user_id",
                f"{_even(1000, 52)} as page",
                f"{_even(30, 53)} as day",
            ),
        ),
    }


TABLES = tuple(_tables(1.0))


@dataclass(frozen=True)
class SkewData:
    """The tables of one scale: `<folder>/<table>/*.parquet`."""

    scale: float
    folder: Path

    def register(self, spark: Any) -> None:
        """Makes every table a temporary view of `spark` (a `SparkSession`)."""
        for table in TABLES:
            spark.read.parquet(str(self.folder / table)).createOrReplaceTempView(table)

    def attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Makes every table a view of `connection`, over the same files."""
        for table in TABLES:
            connection.execute(f"create view {table} as from read_parquet('{self.folder / table}/*.parquet')")


def skew_definition(scale: float) -> str:
    """What the tables of `scale` are made from: their columns, and how they are cut."""
    return json.dumps({"tables": _tables(scale), "layout": layout_definition(scale)})


def ensure_skew(scale: float, folder: Path, report: Callable[[str], None] = lambda _: None) -> SkewData:
    """The tables of `scale` below `folder`, written once for each definition; 1 is 4 million events, about 60 MB."""
    digest = hashlib.sha256(skew_definition(scale).encode()).hexdigest()[:12]
    target = folder / f"sf{scale:g}-{digest}"
    if not target.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=folder) as scratch:
            complete = Path(scratch) / "tables"
            complete.mkdir()
            connection = connect(Path(scratch) / "skew.db")
            try:
                for table, (rows, columns) in _tables(scale).items():
                    report(f"{table}: {rows:,} rows")
                    selected = f"select {', '.join(columns)} from range({rows}) as numbers(i)"
                    connection.execute(f"create view {table} as {selected}")
                    write_table(connection, table, complete, scale)
            finally:
                connection.close()
            if not target.is_dir():
                complete.rename(target)
    return SkewData(scale, target)
