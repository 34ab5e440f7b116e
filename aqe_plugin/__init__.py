"""Runtime join filters and measured join choices for Spark's adaptive query execution.

``configure(builder)`` adds the plugin to a PySpark session, ``AqePlugin(spark)`` looks at it and sets it in one that
runs, and ``read_queries(path)`` reads what it decided from an event log. This is the whole interface; the modules are
internal but for the values they define.
Names are imported when they are first used, so importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aqe_plugin.api.plugin import AqePlugin
    from aqe_plugin.errors import AqePluginError
    from aqe_plugin.events.model import FilterOutcome, JoinDecision, Reason
    from aqe_plugin.events.queries import QueryStory
    from aqe_plugin.install.jars import PACKAGE_VERSION as __version__  # noqa: N811
    from aqe_plugin.install.jars import jar_for
    from aqe_plugin.install.session import configure
    from aqe_plugin.logs import Skipped
    from aqe_plugin.logs.queries import read_queries

__all__ = [
    "AqePlugin",
    "AqePluginError",
    "FilterOutcome",
    "JoinDecision",
    "QueryStory",
    "Reason",
    "Skipped",
    "__version__",
    "configure",
    "jar_for",
    "read_queries",
]

_HOME_OF = {
    "AqePlugin": ("aqe_plugin.api.plugin", "AqePlugin"),
    "AqePluginError": ("aqe_plugin.errors", "AqePluginError"),
    "FilterOutcome": ("aqe_plugin.events.model", "FilterOutcome"),
    "JoinDecision": ("aqe_plugin.events.model", "JoinDecision"),
    "QueryStory": ("aqe_plugin.events.queries", "QueryStory"),
    "Reason": ("aqe_plugin.events.model", "Reason"),
    "Skipped": ("aqe_plugin.logs", "Skipped"),
    "__version__": ("aqe_plugin.install.jars", "PACKAGE_VERSION"),
    "configure": ("aqe_plugin.install.session", "configure"),
    "jar_for": ("aqe_plugin.install.jars", "jar_for"),
    "read_queries": ("aqe_plugin.logs.queries", "read_queries"),
}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOME_OF[name]
    value: object = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
