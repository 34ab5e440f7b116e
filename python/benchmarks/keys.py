"""`make bench-keys`: joins by computed keys, by several columns, or by keys that reach no scan, over TPC-DS tables.

Beside Spark's defaults and its own Bloom filter, forced on. Reported are median seconds, in brackets the least and the
greatest, and the medians of the ratios of a turn. Exit code 1 when rows differ or a query failed.
"""

import argparse
import statistics
import sys
from pathlib import Path

from benchmarks.configs import contenders
from benchmarks.markdown import median_and_range
from benchmarks.measure import Plan, QueryResult, measure
from benchmarks.session import SessionSettings, spark_session
from workloads.scale import scale_factor
from workloads.tpcds.data import ensure_dataset
from workloads.tpcds.partitioned import ensure_partitioned
from workloads.tpcds.queries import Query

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "bench-keys"
_CONTENDERS = ("default", "forced", "plugin")

_SALES = "SELECT count(*), sum(ss_net_profit) FROM store_sales JOIN"
_RETURNS = "FROM store_returns JOIN reason ON sr_reason_sk = r_reason_sk WHERE r_reason_desc = 'reason 28'"

_QUERIES = {
    "columns, for comparison": (
        f"{_SALES} (SELECT sr_item_sk, sr_ticket_number {_RETURNS}) "
        "ON ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number"
    ),
    "`<=>`": (
        f"{_SALES} (SELECT sr_item_sk, sr_ticket_number {_RETURNS}) "
        "ON ss_item_sk <=> sr_item_sk AND ss_ticket_number <=> sr_ticket_number"
    ),
    "a number as text, and a column": (
        f"{_SALES} (SELECT sr_item_sk, CAST(sr_ticket_number AS string) AS ticket {_RETURNS}) "
        "ON ss_item_sk = sr_item_sk AND CAST(ss_ticket_number AS string) = ticket"
    ),
    "a date of a number, above a join with the returns": (
        "SELECT count(*), sum(ws_net_profit) FROM web_sales "
        "JOIN web_returns ON ws_order_number = wr_order_number AND ws_item_sk = wr_item_sk "
        "JOIN date_dim ON date_add(DATE'1900-01-02', CAST(ws_sold_date_sk - 2415022 AS int)) = d_date "
        "WHERE d_year = 2001 AND d_moy = 11"
    ),
    "a text without case, of a dimension": (
        f"{_SALES} customer ON ss_customer_sk = c_customer_sk "
        "JOIN (SELECT upper(ca_county) AS county, ca_address_sk FROM customer_address) "
        "ON c_current_addr_sk = ca_address_sk "
        "JOIN (SELECT DISTINCT upper(s_county) AS near FROM store) ON county = near"
    ),
    "a number of two columns, in front of the shuffle": (
        "SELECT count(*), sum(ss_net_profit) "
        "FROM (SELECT ss_item_sk * 1000000000L + ss_ticket_number AS sold, ss_net_profit FROM store_sales) "
        f"JOIN (SELECT sr_item_sk * 1000000000L + sr_ticket_number AS returned {_RETURNS}) ON sold = returned"
    ),
    "columns of a cached table, in front of the shuffle": (
        "SELECT count(*), sum(ss_net_profit) FROM cached_sales "
        f"JOIN (SELECT sr_item_sk, sr_ticket_number {_RETURNS}) "
        "ON ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number"
    ),
    "a date and a customer, of a table partitioned by date": (
        "SELECT count(*), sum(ss_net_profit) FROM store_sales_by_date JOIN ("
        "SELECT wr_returned_date_sk, wr_refunded_customer_sk FROM web_returns JOIN date_dim "
        "ON wr_returned_date_sk = d_date_sk WHERE d_year = 2001 AND d_moy = 11) "
        "ON ss_sold_date_sk = wr_returned_date_sk AND ss_customer_sk = wr_refunded_customer_sk"
    ),
    "`INTERSECT`": (
        "SELECT count(*), sum(ss_item_sk) FROM ("
        "SELECT ss_customer_sk, ss_item_sk FROM store_sales WHERE ss_sold_date_sk < 2451500 INTERSECT "
        "SELECT ws_bill_customer_sk, ws_item_sk FROM web_sales WHERE ws_sold_date_sk BETWEEN 2451180 AND 2451190)"
    ),
}


# Loaded once, by Spark alone; all contenders read it.
_CACHE = "CACHE TABLE cached_sales AS SELECT ss_item_sk, ss_ticket_number, ss_net_profit FROM store_sales"


def main() -> int:
    """0 if every contender gave the same rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keys", description=__doc__)
    parser.add_argument("--sf", type=scale_factor, default=10.0, help="TPC-DS scale factor")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each contender, after one that is not")
    parser.add_argument("--only", default="", help="only keys whose name contains this")
    arguments = parser.parse_args()
    dataset = ensure_dataset(arguments.sf, report=_report)
    with spark_session(SessionSettings("computed keys", _FOLDER / "events"), with_plugin=True) as spark:
        dataset.register(spark)
        for table, folder in ensure_partitioned(dataset, _report, ["store_sales"]).items():
            spark.read.parquet(str(folder)).createOrReplaceTempView(f"{table}_by_date")
        plan, compared = Plan(runs=arguments.runs), contenders(_CONTENDERS)
        print(f"| key | {' | '.join(_CONTENDERS)} | plugin vs default | plugin vs forced |\n|---|---|---|---|---|---|")
        results = []
        for name, sql in _QUERIES.items():
            if arguments.only not in name:
                continue
            if "cached_sales" in sql:
                spark.sql(_CACHE)
            results.append(measure(spark, Query(name, sql, sql), compared, plan, _report))
            spark.catalog.clearCache()
            print(_line(results[-1]), flush=True)
    return int(any(result.rows_differ or _failure(result) for result in results))


def _report(line: str) -> None:
    print(line, file=sys.stderr)


def _line(result: QueryResult) -> str:
    failure = _failure(result)
    if failure or result.rows_differ:
        return f"| {result.query} | **{failure or f'rows differ: {result.rows_differ}'}** |"
    seconds = {timing.contender: timing.seconds for timing in result.timings}
    ratios = [
        statistics.median(other / plugin for other, plugin in zip(seconds[name], seconds["plugin"], strict=True))
        for name in _CONTENDERS[:2]
    ]
    cells = [
        result.query,
        *(median_and_range(seconds[name], 2) for name in _CONTENDERS),
        *(f"{ratio:.2f}x" for ratio in ratios),
    ]
    return f"| {' | '.join(cells)} |"


def _failure(result: QueryResult) -> str:
    return next((timing.failure for timing in result.timings if timing.failure), "")


if __name__ == "__main__":
    sys.exit(main())
