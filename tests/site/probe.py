"""The pages of the site as a browser lays them out, each in a frame as wide as a screen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import quote

from tests.ui.browser import Browser

__all__ = ["Looked", "look_at", "served"]

_PROBE = """<!doctype html><title>probe</title><pre id="seen"></pre><script>
(async () => {
  const seen = [];
  const pause = () => new Promise((done) => setTimeout(done, 50));
  const isDrawn = (drawing) => {
    const svg = drawing.querySelector("svg:not([aria-roledescription=error])");
    return svg !== null && [...svg.querySelectorAll("g")].some((part) => part.getBBox().width > 50);
  };
  const query = new URLSearchParams(location.search);
  for (const page of JSON.parse(query.get("pages"))) {
    const frame = document.createElement("iframe");
    frame.width = query.get("width");
    frame.height = 800;
    frame.src = page;
    const loaded = new Promise((done) => (frame.onload = done));
    document.body.append(frame);
    await loaded;
    const inside = frame.contentDocument;
    const drawings = [...inside.querySelectorAll("pre.mermaid")];
    for (let tries = 0; tries < 100 && !drawings.every((one) => one.querySelector("svg")); tries++) await pause();
    for (let waited = 0; waited < 4; waited++) await pause();
    const top = inside.querySelector(".highlighted")?.getBoundingClientRect().top ?? -1;
    const boxes = [inside.documentElement, inside.body, ...inside.querySelectorAll("main, main .bd-article-container")];
    seen.push({
      page, heading: inside.querySelector("h1")?.textContent ?? "",
      sideways: Math.max(...boxes.map((box) => box.scrollWidth - box.clientWidth)),
      marked: top > 0 && top < frame.height,
      diagrams: drawings.length,
      drawn: drawings.filter(isDrawn).length,
    });
    frame.remove();
  }
  document.querySelector("#seen").textContent = `seen: ${JSON.stringify(seen)}`;
})();
</script>"""


class Looked(NamedTuple):
    """How a page is laid out.

    Attributes:
        sideways: so many pixels of it are seen only after scrolling sideways; a table or a block scrolls by itself.
        marked: whether a word that was searched for is marked, and in sight.
        drawn: how many of its diagrams are drawn.
    """

    page: str
    heading: str
    sideways: float
    marked: bool
    diagrams: int
    drawn: int


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of this machine that has the folder, and the page that looks at others."""

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith("/probe.html"):
                super().do_GET()
                return
            content = _PROBE.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def look_at(browser: Browser, address: str, pages: list[str], width: int, *flags: str) -> list[Looked]:
    """The pages, one after the other, by one process of the browser; ``flags`` are Chromium's."""
    url = f"{address}/probe.html?width={width}&pages={quote(json.dumps(pages))}"
    text = browser.open(url, "--virtual-time-budget=300000", *flags).text
    found = re.search(r"seen: (\[.*\])", text)
    assert found is not None, text
    return [Looked(**one) for one in json.loads(found[1])]
