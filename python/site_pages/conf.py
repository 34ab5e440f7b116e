"""How Sphinx builds the site, from the folder that ``python -m site_pages`` wrote."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from docutils import nodes

project = "aqe-plugin"
project_copyright = "the authors of aqe-plugin, Apache License 2.0"
release = version = Path(__file__).resolve().parents[2].joinpath("aqe_plugin", "VERSION").read_text().strip()

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
source_suffix = {".md": "markdown"}
exclude_patterns = ["files"]

# A reference that leads nowhere fails the build; annotations name much that this site does not describe.
nitpicky = True
nitpick_ignore_regex = [("py:(class|data|obj|exc)", ".*")]

myst_heading_anchors = 6
myst_heading_slug_func = "site_pages.links.anchor"
# A block may leave something out, or be of a language that has no colours.
suppress_warnings = ["misc.highlighting_failure"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
add_module_names = False
maximum_signature_line_length = 88

smartquotes = False

html_theme = "pydata_sphinx_theme"
html_title = f"aqe-plugin {version}"
templates_path = ["theme"]
html_static_path = ["theme/static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_sidebars = {"**": ["site-navigation"]}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "aqe-plugin"},
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "search_bar_text": "Search",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}

_KINDS = {"note": nodes.note, "tip": nodes.tip, "warning": nodes.warning}


def _prepare(app: Any, doctree: Any) -> None:
    """Draws diagrams, words docstrings as they are, and shows a quote that begins with ``**Note**`` as a note."""
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") == "mermaid":
            drawing = f'<pre class="mermaid">{html.escape(block.astext())}</pre>'
            block.replace_self(nodes.raw("", drawing, format="html"))
    for field in doctree.findall(nodes.field_name):
        if field.astext() == "Variables":
            field.children = [nodes.Text("Attributes")]
    for dash in [text for text in doctree.findall(nodes.Text) if text.astext() == " -- "]:
        dash.parent.replace(dash, nodes.Text(" \N{EN DASH} "))
    for quote in list(doctree.findall(nodes.block_quote)):
        if (kind := _kind_taken_off(quote)) is not None:
            quote.replace_self(kind("", *quote.children))


def _kind_taken_off(quote: Any) -> Any:
    """What the quote is, taken from its begin: a note, a tip, a warning, or `None`."""
    first = quote.next_node(nodes.paragraph)
    inner = [] if first is None else [node for node in first.children if node.astext()]
    kind = _KINDS.get(inner[0].astext().strip(" .:").lower()) if inner and isinstance(inner[0], nodes.strong) else None
    if kind is not None:
        del inner[0]
        if inner and isinstance(inner[0], nodes.Text):
            inner[0] = nodes.Text(inner[0].astext().lstrip(" :.\n"))
        first.children = []
        first.extend(inner)
    return kind


def _add_diagrams(app: Any, page: str, template: str, context: Any, doctree: Any) -> None:
    """Mermaid's script is large: only a page with a diagram has it."""
    if doctree is not None and 'class="mermaid"' in context.get("body", ""):
        app.add_js_file("mermaid.min.js", loading_method="defer")
        app.add_js_file("diagrams.js", loading_method="defer")


def _add_static(app: Any, config: Any) -> None:
    config.html_static_path.append(str(Path(app.srcdir) / "_static"))


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", _add_static)
    app.connect("doctree-read", _prepare)
    app.connect("html-page-context", _add_diagrams)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
