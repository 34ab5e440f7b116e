"""Tables reduced by hand to the rows that a query's joins keep: what a perfect runtime filter would leave to read.

Some filters cost nothing here, and are not known before the query runs anywhere else; so a query over these tables
bounds from below what any runtime filter can reach.
"""

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import duckdb

from workloads.tpcds.data import Dataset, write_table
from workloads.tpcds.extension import connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# (table, condition on the rows that stay), in order: each sees the tables as the ones before it left them.
Steps = Sequence[tuple[str, str]]


def _same_purchase(sales: str, returns: str, order: str, *, with_customer: bool = False) -> Steps:
    """A sale and its return, each kept only if the other is there; prefixes such as `ss` and `sr`, tables by name."""
    s, r = _PREFIX[sales], _PREFIX[returns]
    customer = (f"{s}_customer_sk, ", f"{r}_customer_sk, ") if with_customer else ("", "")
    keys = (f"{customer[0]}{s}_item_sk, {s}_{order}", f"{customer[1]}{r}_item_sk, {r}_{order}")
    return (
        (sales, f"({keys[0]}) in (select ({keys[1]}) from {returns})"),
        (returns, f"({keys[1]}) in (select ({keys[0]}) from {sales})"),
    )


_PREFIX = {
    "store_sales": "ss",
    "store_returns": "sr",
    "catalog_sales": "cs",
    "catalog_returns": "cr",
    "web_sales": "ws",
    "web_returns": "wr",
}


def _dates(column: str, condition: str) -> str:
    return f"{column} in (select d_date_sk from date_dim where {condition})"


def _returned_and_bought_again(sold: str, returned: str, again: str) -> Steps:
    return (
        ("store_returns", _dates("sr_returned_date_sk", returned)),
        ("store_sales", _dates("ss_sold_date_sk", sold)),
        *_same_purchase("store_sales", "store_returns", "ticket_number", with_customer=True),
        (
            "catalog_sales",
            (
                f"{_dates('cs_sold_date_sk', again)} and (cs_bill_customer_sk, cs_item_sk) in "
                "(select (sr_customer_sk, sr_item_sk) from store_returns)"
            ),
        ),
    )


def _channel(sales: str, returns: str, order: str) -> Steps:
    s, r = _PREFIX[sales], _PREFIX[returns]
    return (
        (
            sales,
            (
                f"{_dates(f'{s}_sold_date_sk', _MONTH_OF_SALES)} "
                f"and {s}_item_sk in (select i_item_sk from item where i_current_price > 50) "
                f"and {s}_promo_sk in (select p_promo_sk from promotion where p_channel_tv = 'N')"
            ),
        ),
        (returns, f"({r}_item_sk, {r}_{order}) in (select ({s}_item_sk, {s}_{order}) from {sales})"),
    )


def _in_stock(dates: str, prices: str, manufacturers: str, sales: str) -> Steps:
    return (
        (
            "inventory",
            (
                f"{_dates('inv_date_sk', f'd_date between {dates}')} and inv_quantity_on_hand between 100 and 500"
                f" and inv_item_sk in (select i_item_sk from item where i_current_price between {prices}"
                f" and i_manufact_id in ({manufacturers}))"
            ),
        ),
        (sales, f"{_PREFIX[sales]}_item_sk in (select inv_item_sk from inventory)"),
    )


_MONTH_OF_SALES = "d_date between date '2000-08-23' and date '2000-09-22'"

REDUCTIONS: Mapping[str, Steps] = MappingProxyType(
    {
        "q93": (
            ("store_returns", "sr_reason_sk in (select r_reason_sk from reason where r_reason_desc = 'reason 28')"),
            *_same_purchase("store_sales", "store_returns", "ticket_number"),
        ),
        "q50": (
            ("store_returns", _dates("sr_returned_date_sk", "d_year = 2001 and d_moy = 8")),
            *_same_purchase("store_sales", "store_returns", "ticket_number", with_customer=True),
        ),
        "q40": (
            (
                "catalog_sales",
                _dates("cs_sold_date_sk", "d_date between date '2000-02-10' and date '2000-04-10'")
                + " and cs_item_sk in (select i_item_sk from item where i_current_price between 0.99 and 1.49)",
            ),
            (
                "catalog_returns",
                "(cr_item_sk, cr_order_number) in (select (cs_item_sk, cs_order_number) from catalog_sales)",
            ),
        ),
        "q94": (
            (
                "web_sales",
                "ws_order_number in (select ws_order_number from web_sales where "
                + _dates("ws_ship_date_sk", "d_date between date '1999-02-01' and date '1999-04-02'")
                + " and ws_ship_addr_sk in (select ca_address_sk from customer_address where ca_state = 'IL')"
                " and ws_web_site_sk in (select web_site_sk from web_site where web_company_name = 'pri'))",
            ),
            ("web_returns", "wr_order_number in (select ws_order_number from web_sales)"),
        ),
        "q25": _returned_and_bought_again(
            "d_moy = 4 and d_year = 2001",
            "d_moy between 4 and 10 and d_year = 2001",
            "d_moy between 4 and 10 and d_year = 2001",
        ),
        "q29": _returned_and_bought_again(
            "d_moy = 9 and d_year = 1999",
            "d_moy between 9 and 12 and d_year = 1999",
            "d_year in (1999, 2000, 2001)",
        ),
        "q80": (
            *_channel("store_sales", "store_returns", "ticket_number"),
            *_channel("catalog_sales", "catalog_returns", "order_number"),
            *_channel("web_sales", "web_returns", "order_number"),
        ),
        "q16": (
            (
                "catalog_sales",
                "cs_order_number in (select cs_order_number from catalog_sales where "
                + _dates("cs_ship_date_sk", "d_date between date '2002-02-01' and date '2002-04-02'")
                + " and cs_ship_addr_sk in (select ca_address_sk from customer_address where ca_state = 'GA')"
                " and cs_call_center_sk in"
                " (select cc_call_center_sk from call_center where cc_county = 'Williamson County'))",
            ),
            ("catalog_returns", "cr_order_number in (select cs_order_number from catalog_sales)"),
        ),
        "q37": _in_stock("date '2000-02-01' and date '2000-04-01'", "68 and 98", "677, 940, 694, 808", "catalog_sales"),
        "q82": _in_stock("date '2000-05-25' and date '2000-07-24'", "62 and 92", "129, 270, 821, 423", "store_sales"),
        "q21": (
            (
                "inventory",
                _dates("inv_date_sk", "d_date between date '2000-02-10' and date '2000-04-10'")
                + " and inv_item_sk in (select i_item_sk from item where i_current_price between 0.99 and 1.49)",
            ),
        ),
        "q15": (
            (
                "catalog_sales",
                _dates("cs_sold_date_sk", "d_qoy = 2 and d_year = 2001")
                + " and (cs_sales_price > 500 or cs_bill_customer_sk in"
                " (select c_customer_sk from customer join customer_address on c_current_addr_sk = ca_address_sk"
                " where ca_state in ('CA', 'WA', 'GA') or substring(ca_zip, 1, 5) in ('85669', '86197', '88274',"
                " '83405', '86475', '85392', '85460', '80348', '81792')))",
            ),
        ),
    }
)


# The columns of each primary key.
_KEYS = {
    "store_sales": ("ss_item_sk", "ss_ticket_number"),
    "store_returns": ("sr_item_sk", "sr_ticket_number"),
    "catalog_sales": ("cs_item_sk", "cs_order_number"),
    "catalog_returns": ("cr_item_sk", "cr_order_number"),
    "web_sales": ("ws_item_sk", "ws_order_number"),
    "web_returns": ("wr_item_sk", "wr_order_number"),
    "inventory": ("inv_date_sk", "inv_item_sk", "inv_warehouse_sk"),
}


def semi_joined(whole: "DataFrame", kept: "DataFrame", table: str) -> "DataFrame":
    """The rows of a whole fact table whose primary keys are in its reduced copy. All of the table is read, and its rows
    are looked up by perfect keys. That is no lower bound of what filters can reach: the keys are broadcast first.
    """
    from pyspark.sql.functions import broadcast

    key = list(_KEYS[table])
    return whole.join(broadcast(kept.select(*key)), key, "left_semi")


def ensure_reduced(dataset: Dataset, query: str, report: Callable[[str], None] = lambda _: None) -> dict[str, Path]:
    """Folder of each reduced table of `query`, written once and kept beside the data set.

    Args:
        report: gets a line before each step and each table that is written, `q93: reducing store_sales, 2 of 5 ...`,
            and one with the seconds after it.

    Raises:
        KeyError: nobody has reduced tables for that query; `REDUCTIONS` has the ones that are.
    """
    steps = REDUCTIONS[query]
    tables = sorted({table for table, _ in steps})
    digest = hashlib.sha256(json.dumps(list(steps)).encode()).hexdigest()[:8]
    folder = dataset.folder.parent / f"{dataset.folder.name}-reduced" / f"{query}-{digest}"
    if not folder.is_dir():
        _write(dataset, steps, tables, folder, _Progress(query, len(steps) + len(tables), report))
    return {table: folder / table for table in tables}


class _Progress:
    """Reports each of a query's steps before it is made, and its seconds when it has been."""

    def __init__(self, query: str, steps: int, report: Callable[[str], None]) -> None:
        self._query, self._steps, self._report = query, steps, report
        self._number = 0

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        self._number += 1
        line = f"{self._query}: {what}, {self._number} of {self._steps}"
        self._report(f"{line} ...")
        start = time.monotonic()
        yield
        self._report(f"{line}: {time.monotonic() - start:.1f} s")


def _write(dataset: Dataset, steps: Steps, tables: Sequence[str], folder: Path, progress: _Progress) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        complete = Path(scratch) / "tables"
        complete.mkdir()
        connection = connect(Path(scratch) / "reduced.db")
        try:
            dataset.attach(connection)
            for position, (table, condition) in enumerate(steps):
                with progress.step(f"reducing {table}"):
                    _reduce(connection, table, condition, f"step_{position}_{table}")
            for table in tables:
                with progress.step(f"writing {table}"):
                    write_table(connection, table, complete, dataset.scale)
        finally:
            connection.close()
        if not folder.is_dir():
            complete.rename(folder)


def _reduce(connection: duckdb.DuckDBPyConnection, table: str, condition: str, kept: str) -> None:
    connection.execute(f"create table {kept} as select * from {table} where {condition}")
    connection.execute(f"create or replace view {table} as from {kept}")
