"""Makes the tables that some queries read: `python -m workloads.tpcds --sf 3 --queries q93,q50`."""

import argparse
import sys

from workloads.scale import scale_factor
from workloads.tpcds.data import TABLES, ensure_dataset
from workloads.tpcds.queries import queries


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workloads.tpcds", description=__doc__)
    parser.add_argument("--sf", type=scale_factor, default=1.0, help="TPC-DS scale factor")
    parser.add_argument("--queries", default="all", help="comma-separated names; tables of the first come first")
    options = parser.parse_args()
    known = queries()
    names = list(known) if options.queries == "all" else options.queries.split(",")
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown query {', '.join(unknown)}; there are: {', '.join(known)}")
    tables = TABLES if options.queries == "all" else tuple(dict.fromkeys(t for n in names for t in known[n].tables))
    ensure_dataset(options.sf, lambda line: print(line, flush=True), tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
