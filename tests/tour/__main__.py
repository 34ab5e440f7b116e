"""``python -m tests.tour``: takes the tour, and says each step as it goes."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from rich.console import Console

from tests.tour.steps import tour
from workloads.scale import scale_factor
from workloads.tpcds import ensure_dataset

_ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tour", description=__doc__)
    parser.add_argument("--sf", type=scale_factor, default=1.0, help="TPC-DS scale factor (default: 1)")
    arguments = parser.parse_args()
    console = Console(soft_wrap=True)
    found = subprocess.run(
        [str(_ROOT / "project" / "prometheus")], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    dataset = ensure_dataset(arguments.sf, console.print)
    with tempfile.TemporaryDirectory(prefix="aqe-plugin-tour-") as folder:
        seen = tour(Path(folder), dataset.folder, Path(found.stdout.strip()), console.print)
        for one in seen.shown.values():
            console.print(f"[bold]$ {one.command}[/]")
            console.file.write(one.output)


if __name__ == "__main__":
    main()
