"""What is made of the project's pages, commands and docstrings before Sphinx reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

import aqe_plugin
from aqe_plugin.cli.app import app
from site_pages.api import API_PAGES
from site_pages.commands import command_pages
from site_pages.links import with_links
from site_pages.site import Site

_ROOT = Path(__file__).resolve().parents[2]


def test_every_page_of_the_documentation_is_in_the_navigation_and_the_other_way_round() -> None:
    assert Site(_ROOT).faults == []


def test_links_and_pictures_lead_elsewhere_and_code_stays_as_it_is() -> None:
    page = "[a `b`](c.md) ![d](e.png) [![f](g.png)](h.md) `[i](j.md)`\n```\n[k](l.md)\n```\n``[`m`](n.md)`` [o](p)\n"
    moved = with_links(page, lambda target: None if target == "p" else f"to/{target}")
    assert moved == (
        "[a `b`](to/c.md) ![d](to/e.png) [![f](to/g.png)](to/h.md) `[i](j.md)`\n"
        "```\n[k](l.md)\n```\n``[`m`](n.md)`` o\n"
    )


def test_every_command_has_a_page_with_each_of_its_options() -> None:
    program: Any = typer.main.get_command(app)
    pages = command_pages()
    for name, command in program.commands.items():
        inner = getattr(command, "commands", {"": command})
        parameters = [parameter for one in inner.values() for parameter in one.params]
        spellings = {option for one in parameters if not getattr(one, "hidden", False) for option in one.opts}
        options = {spelling for spelling in spellings if spelling.startswith("--")}
        page = pages[f"reference/commands/{name}"]
        assert {option for option in options if option not in page} == set()


def test_every_name_of_the_interface_has_its_docstring_on_a_page() -> None:
    page = API_PAGES["reference/api/aqe_plugin"]
    for name in aqe_plugin.__all__:
        assert f"aqe_plugin.{name}\n" in page or f":: {name}\n" in page
    assert ".. py:data:: Mode\n   :value: Literal['off', 'observe', 'apply']\n\n   Whether the plugin does" in page
    assert "autoclass:: aqe_plugin.api.analysis.Analysis" in page
