"""Runtime join filters and measured join choices for Spark's adaptive query execution.

``configure(builder)`` adds the plugin to a PySpark session, ``AqePlugin(spark)`` looks at it and sets it in one that
runs, and ``read_queries(path)`` reads what it decided from an event log. The other names are what these return and
raise. This is the whole interface; the modules are internal.
Names are imported when they are first used, so importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aqe_plugin.api.analysis import Analysis
    from aqe_plugin.api.counters import Counters
    from aqe_plugin.api.explanation import Explanation
    from aqe_plugin.api.force import JoinStrategy, PluginPart
    from aqe_plugin.api.plugin import AqePlugin
    from aqe_plugin.api.session_check import Checks
    from aqe_plugin.api.session_confs import ConfScope
    from aqe_plugin.api.thresholds import SessionThresholds
    from aqe_plugin.api.what_if import JoinReplayed, WhatIf
    from aqe_plugin.conf.changes import Change
    from aqe_plugin.errors import (
        AqePluginError,
        ConfError,
        EventLogError,
        ExtraMissingError,
        InputError,
        MissingJarError,
        NoDataError,
        NotAvailableError,
        SessionError,
        SetupError,
        UnsupportedSparkError,
    )
    from aqe_plugin.events.model import (
        BuildFacts,
        ClusterFacts,
        CostTerm,
        FilterOutcome,
        FilterPlanned,
        FlipPoint,
        InferredBy,
        JoinDecision,
        JoinFacts,
        JoinKind,
        KeyBucket,
        KeyFacts,
        LimitChoice,
        LimitDecided,
        LimitDecision,
        LimitFacts,
        LimitOperator,
        LimitOutcome,
        MemoryFacts,
        PathStep,
        PluginMode,
        PredicateInferred,
        ProbeFacts,
        QueryEnded,
        Reason,
        SampledKeys,
        Side,
        Strategy,
        TrialArm,
        WaitDecision,
        WaitEnd,
        WeighedOption,
    )
    from aqe_plugin.events.queries import JoinStory, QueryStory
    from aqe_plugin.install.checks import Check, CheckVerdict
    from aqe_plugin.install.jars import PACKAGE_VERSION as __version__  # noqa: N811
    from aqe_plugin.install.jars import jar_for
    from aqe_plugin.install.session import Mode, configure
    from aqe_plugin.logs import Skipped
    from aqe_plugin.logs.queries import read_queries

__all__ = [
    "Analysis",
    "AqePlugin",
    "AqePluginError",
    "BuildFacts",
    "Change",
    "Check",
    "CheckVerdict",
    "Checks",
    "ClusterFacts",
    "ConfError",
    "ConfScope",
    "CostTerm",
    "Counters",
    "EventLogError",
    "Explanation",
    "ExtraMissingError",
    "FilterOutcome",
    "FilterPlanned",
    "FlipPoint",
    "InferredBy",
    "InputError",
    "JoinDecision",
    "JoinFacts",
    "JoinKind",
    "JoinReplayed",
    "JoinStory",
    "JoinStrategy",
    "KeyBucket",
    "KeyFacts",
    "LimitChoice",
    "LimitDecided",
    "LimitDecision",
    "LimitFacts",
    "LimitOperator",
    "LimitOutcome",
    "MemoryFacts",
    "MissingJarError",
    "Mode",
    "NoDataError",
    "NotAvailableError",
    "PathStep",
    "PluginMode",
    "PluginPart",
    "PredicateInferred",
    "ProbeFacts",
    "QueryEnded",
    "QueryStory",
    "Reason",
    "SampledKeys",
    "SessionError",
    "SessionThresholds",
    "SetupError",
    "Side",
    "Skipped",
    "Strategy",
    "TrialArm",
    "UnsupportedSparkError",
    "WaitDecision",
    "WaitEnd",
    "WeighedOption",
    "WhatIf",
    "__version__",
    "configure",
    "jar_for",
    "read_queries",
]

_MODULES = {
    "Analysis": "api.analysis",
    "AqePlugin": "api.plugin",
    "BuildFacts": "events.model",
    "Change": "conf.changes",
    "Check": "install.checks",
    "CheckVerdict": "install.checks",
    "Checks": "api.session_check",
    "ClusterFacts": "events.model",
    "ConfScope": "api.session_confs",
    "CostTerm": "events.model",
    "Counters": "api.counters",
    "Explanation": "api.explanation",
    "FilterOutcome": "events.model",
    "FilterPlanned": "events.model",
    "FlipPoint": "events.model",
    "InferredBy": "events.model",
    "JoinDecision": "events.model",
    "JoinFacts": "events.model",
    "JoinKind": "events.model",
    "JoinReplayed": "api.what_if",
    "JoinStory": "events.queries",
    "JoinStrategy": "api.force",
    "KeyBucket": "events.model",
    "KeyFacts": "events.model",
    "LimitChoice": "events.model",
    "LimitDecided": "events.model",
    "LimitDecision": "events.model",
    "LimitFacts": "events.model",
    "LimitOperator": "events.model",
    "LimitOutcome": "events.model",
    "MemoryFacts": "events.model",
    "Mode": "install.session",
    "PathStep": "events.model",
    "PluginMode": "events.model",
    "PluginPart": "api.force",
    "PredicateInferred": "events.model",
    "ProbeFacts": "events.model",
    "QueryEnded": "events.model",
    "QueryStory": "events.queries",
    "Reason": "events.model",
    "SampledKeys": "events.model",
    "SessionThresholds": "api.thresholds",
    "Side": "events.model",
    "Skipped": "logs",
    "Strategy": "events.model",
    "TrialArm": "events.model",
    "WaitDecision": "events.model",
    "WaitEnd": "events.model",
    "WeighedOption": "events.model",
    "WhatIf": "api.what_if",
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
    value: object = getattr(import_module(f"aqe_plugin.{_MODULES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
