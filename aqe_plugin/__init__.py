"""Runtime join filters and measured join choices for Spark's adaptive query execution.

``configure(builder)`` adds the plugin to a PySpark session, ``AqePlugin(spark)`` looks at it and sets it in one that
runs, and ``read_queries(path)`` reads what it decided from an event log. The values of events are in
``aqe_plugin.events``, what is raised is in ``aqe_plugin.errors``. This is the whole interface; other modules are
internal. Names are imported when they are first used, so importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aqe_plugin.api.plugin import AqePlugin
    from aqe_plugin.errors import AqePluginError
    from aqe_plugin.events.model import Mode, Strategy
    from aqe_plugin.install.jars import PACKAGE_VERSION as __version__  # noqa: N811
    from aqe_plugin.install.jars import jar_for
    from aqe_plugin.install.session import configure
    from aqe_plugin.logs.queries import read_queries

__all__ = [
    "AqePlugin",
    "AqePluginError",
    "Mode",
    "Strategy",
    "__version__",
    "configure",
    "jar_for",
    "read_queries",
]

_HOMES = {
    "AqePlugin": "api.plugin",
    "AqePluginError": "errors",
    "Mode": "events.model",
    "Strategy": "events.model",
    "configure": "install.session",
    "jar_for": "install.jars",
    "read_queries": "logs.queries",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        return import_module("aqe_plugin.install.jars").PACKAGE_VERSION
    value: object = getattr(import_module(f"aqe_plugin.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
