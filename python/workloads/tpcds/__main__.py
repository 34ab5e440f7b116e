"""`python -m workloads.tpcds --sf 1`: generates a data set and says where it lies."""

import argparse

from rich.console import Console

from workloads.tpcds.data import ensure_dataset


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m workloads.tpcds", description=__doc__)
    parser.add_argument("--sf", type=float, default=1.0, help="scale factor; 1 is about 400 MB of Parquet")
    scale = parser.parse_args().sf
    console = Console()
    with console.status(f"TPC-DS at scale {scale:g}") as status:
        dataset = ensure_dataset(scale, report=lambda line: status.update(line))
    console.print(f"{dataset.folder}: {len(dataset.rows)} tables, {sum(dataset.rows.values()):,} rows")


if __name__ == "__main__":
    main()
