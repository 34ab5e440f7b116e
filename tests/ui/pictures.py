"""The pictures of the tab in the documentation: ``python -m tests.ui.pictures LOGS QUERY``.

``LOGS`` is a folder of event logs, as ``make bench`` leaves them below ``.build/bench/events``; ``QUERY`` the number of
a query in the first of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from tests.ui.browser import Browser
from tests.ui.history_server import history_server

_ROOT = Path(__file__).resolve().parents[2]
_IMAGES = _ROOT / "docs" / "images"
_WIDTH = 1500


def main(logs: Path, query: int) -> None:
    found = subprocess.run([str(_ROOT / "project" / "chromium")], cwd=_ROOT, capture_output=True, text=True, check=True)
    browser = Browser(Path(found.stdout.strip()))
    with tempfile.TemporaryDirectory() as folder, history_server(logs, Path(folder), 1) as address:
        with urllib.request.urlopen(f"{address}/api/v1/applications", timeout=10) as answer:
            application = json.load(answer)[0]["id"]
        tab = f"{address}/history/{application}/runtime-filters"
        for page, name, height in (("", "", 720), (f"query/?id={query}", "-query", 900)):
            picture = _IMAGES / f"ui-runtime-filters{name}.png"
            browser.screenshot(f"{tab}/{page}", picture, width=_WIDTH, height=height)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]))
