"""Every page of the site, in the order in which its navigation lists them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HOME", "NAVIGATION", "UNLISTED", "Entry"]


class Entry(NamedTuple):
    """A page: its name in the navigation, its file in the project, and its name in the site."""

    title: str
    source: str
    name: str


def _docs(title: str, name: str) -> Entry:
    return Entry(title, f"docs/{name}.md", name)


HOME = _docs("Home", "index")

NAVIGATION = {
    "Try it": [_docs("Does it fit", "fit"), _docs("Try one job", "try")],
    "Run it": [
        _docs("Switch it on", "switch-on"),
        _docs("Monitor", "monitor"),
        _docs("Troubleshoot", "troubleshoot"),
        _docs("Tune", "tune"),
        _docs("Switch off", "switch-off"),
        _docs("What it costs", "costs"),
    ],
    "Understand it": [
        _docs("How it decides", "decides"),
        _docs("LIMIT", "limit"),
        _docs("Predicates", "predicates"),
        _docs("Works with", "works-with"),
    ],
    "Reference": [
        _docs("Configuration", "reference/configuration"),
        _docs("Reasons", "reference/reasons"),
        _docs("Metrics", "reference/metrics"),
        _docs("Decisions", "reference/decisions"),
        _docs("Command line", "reference/command-line"),
        _docs("Python", "reference/python"),
        _docs("Pipeline", "reference/pipeline"),
    ],
    "The project": [
        _docs("Results", "results"),
        _docs("Design", "design"),
        Entry("Contributing", "CONTRIBUTING.md", "contributing"),
        Entry("Changes", "CHANGELOG.md", "changes"),
        Entry("Security", "SECURITY.md", "security"),
    ],
}
"""Group → its pages."""

UNLISTED = [Entry("README", "README.md", "readme"), Entry("Code of conduct", "CODE_OF_CONDUCT.md", "code-of-conduct")]
"""Pages that others link to, and that are for a forge."""
