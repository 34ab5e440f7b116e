"""Runtime join filters and measured join choices for Spark's adaptive query execution.

``configure(builder)`` adds the plugin to a PySpark session, ``AqePlugin(spark)`` looks at it and sets it in one that
runs, and ``read_queries(path)`` reads what it decided from an event log. The values of events are in
``aqe_plugin.events``, what is raised is in ``aqe_plugin.errors``. This is the whole interface; other modules are
internal. Names are imported when they are first used, so importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aqe_plugin.api.plugin import AqePlugin as AqePlugin
    from aqe_plugin.errors import AqePluginError as AqePluginError
    from aqe_plugin.events.model import Mode as Mode
    from aqe_plugin.events.model import Strategy as Strategy
    from aqe_plugin.install.jars import jar_for as jar_for
    from aqe_plugin.install.session import configure as configure
    from aqe_plugin.logs.queries import read_queries as read_queries

    __version__: str

_HOMES = {
    "AqePlugin": "api.plugin",
    "AqePluginError": "errors",
    "Mode": "events.model",
    "Strategy": "events.model",
    "__version__": "install.jars",
    "configure": "install.session",
    "jar_for": "install.jars",
    "read_queries": "logs.queries",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"aqe_plugin.{_HOMES[name]}")
    value: object = getattr(home, "PACKAGE_VERSION" if name == "__version__" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
