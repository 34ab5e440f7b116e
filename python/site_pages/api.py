"""The pages of the Python interface, which Sphinx fills from the docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any

import aqe_plugin
from aqe_plugin import events
from aqe_plugin.events import model

__all__ = ["API_PAGES"]

_FOLDER = "reference/api"


def _described(package: ModuleType, name: str, docs: dict[str, str]) -> str:
    """What has Sphinx document ``name`` of ``package``; ``docs`` has the docstrings of names of plain values."""
    found = getattr(package, name)
    full = f"{package.__name__}.{name}"
    if inspect.isclass(found):
        kind = "autoexception" if issubclass(found, BaseException) else "autoclass"
        return f".. {kind}:: {full}\n   :members:\n"
    if inspect.isroutine(found):
        return f".. autofunction:: {full}\n"
    text = docs.get(name, "")
    value = f"   :value: {_shown(found)}\n" if name != "__version__" else ""
    # The words that the package itself offers too are described, and found, there.
    again = "   :no-index:\n" if package is events and name in aqe_plugin.__all__ else ""
    return f".. py:currentmodule:: {package.__name__}\n\n.. py:data:: {name}\n{value}{again}\n   {text}\n"


def _docs_of_names(module: ModuleType) -> dict[str, str]:
    """Name → the text below its assignment."""
    body = ast.parse(inspect.getsource(module)).body
    docs = {}
    for assigned, below in pairwise(body):
        if isinstance(assigned, ast.Assign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            docs[ast.unparse(assigned.targets[0])] = str(below.value.value)
    return docs


def _shown(value: object) -> str:
    return re.sub(r"\btyping\.", "", repr(value))


def _page(title: str, parts: Iterator[tuple[str, list[str]]]) -> str:
    """Headings, each with directives below it; the first of them may be empty."""
    lines = [f"# {title}", ""]
    for heading, directives in parts:
        if heading:
            lines += [f"## {heading}", ""]
        lines += ["```{eval-rst}", *directives, "```", ""]
    return "\n".join(lines)


def _interface() -> Iterator[tuple[str, list[str]]]:
    docs = _docs_of_names(model)
    docs["__version__"] = "The version of this package, which is that of the jars it carries."
    yield "", [".. automodule:: aqe_plugin\n"]
    for name in aqe_plugin.__all__:
        yield f"`{name}`", [_described(aqe_plugin, name, docs)]
    yield (
        "What its methods give back",
        [_described(import_module(one.__module__), one.__name__, {}) for one in _given()],
    )


def _given() -> list[type[Any]]:
    """The classes of the package that methods of `AqePlugin` return."""
    home = import_module(aqe_plugin.AqePlugin.__module__)
    members = [getattr(member, "fget", member) for member in vars(aqe_plugin.AqePlugin).values()]
    named = [str(getattr(member, "__annotations__", {}).get("return", "")) for member in members]
    words = dict.fromkeys(word for names in named for word in re.findall(r"\w+", names))
    found = [getattr(home, word, None) for word in words]
    return [one for one in found if inspect.isclass(one) and one.__module__.startswith("aqe_plugin.")]


def _events() -> Iterator[tuple[str, list[str]]]:
    docs = _docs_of_names(model)
    yield "", [".. automodule:: aqe_plugin.events\n"]
    public = [name for name, value in vars(events).items() if not name.startswith("_") and _is_documented(value)]
    for heading, classes in (("Words", False), ("Values", True)):
        yield (
            heading,
            [_described(events, name, docs) for name in public if inspect.isclass(vars(events)[name]) is classes],
        )


def _is_documented(value: object) -> bool:
    """Whether it is a class of events, or a list of words such as `Mode`."""
    if inspect.isclass(value):
        return value.__module__.startswith("aqe_plugin.events.")
    return getattr(value, "__origin__", None) is not None


def _errors() -> Iterator[tuple[str, list[str]]]:
    yield "", [".. automodule:: aqe_plugin.errors\n   :members:\n   :show-inheritance:\n"]


API_PAGES = {
    f"{_FOLDER}/aqe_plugin": _page("aqe_plugin", _interface()),
    f"{_FOLDER}/events": _page("aqe_plugin.events", _events()),
    f"{_FOLDER}/errors": _page("aqe_plugin.errors", _errors()),
}
"""Name of the page → its text."""
