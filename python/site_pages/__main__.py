"""``python -m site_pages MERMAID FOLDER`` writes into ``FOLDER`` what Sphinx reads; ``MERMAID`` is Mermaid's script."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from site_pages.site import Site

_ROOT = Path(__file__).resolve().parents[2]


def main(mermaid: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    site = Site(_ROOT)
    if site.faults:
        sys.exit("\n".join(["The site's pages:", *(f"  {fault}" for fault in site.faults)]))
    site.write(folder)
    static = folder / "_static"
    static.mkdir()
    shutil.copy(mermaid, static / "mermaid.min.js")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
