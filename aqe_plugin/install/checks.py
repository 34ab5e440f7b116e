"""Every check of an installation, each a small function; ``check`` and ``AqePlugin`` choose from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from aqe_plugin.conf.keys import CANARY, MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY, PREFIX, conf_keys, problem_of
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import AqePluginError
from aqe_plugin.events.lines import FORCE_KEY
from aqe_plugin.install.jars import jar_name
from aqe_plugin.install.plan import our_jars, times_listed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Without it, Spark never plans again what the plugin could decide.
ADAPTIVE_KEY = "spark.sql.adaptive.enabled"
NO_ADAPTIVE = "no join is decided, and none gets a filter; predicates and limits are not affected"
NOT_ADAPTIVE = "expected true or false; with it, no query of Spark runs"
AS_IF_OFF = "Until that is corrected, every query runs as if the plugin were off."
AS_IF_NOT_FORCED = "Until that is corrected, no join is forced and all are decided as if the key were not set."
JOIN_ROWS = 100


CheckVerdict = Literal["ok", "failed", "not run", "remark"]
"""The outcome of a check; a remark is seldom intended, and does no harm."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        found: what there is, or what is wrong.
        fix: what to do about it, where ``found`` does not say.
    """

    name: str
    verdict: CheckVerdict
    found: str
    fix: str = ""

    @property
    def ok(self) -> bool:
        """Whether it did not fail."""
        return self.verdict != "failed"

    @property
    def finding(self) -> str:
        """What was found and what to do."""
        return f"{self.found.rstrip('.')}. {self.fix}" if self.fix else self.found


def outcome_of(name: str, ok: bool, found: str, fix: str = "") -> Check:
    """A check that passed, without its ``fix``, or failed."""
    return Check(name, "ok", found) if ok else Check(name, "failed", found, fix)


def tried(name: str, find: Callable[[], str]) -> Check:
    """A check that fails with one of our errors."""
    try:
        return Check(name, "ok", find())
    except AqePluginError as error:
        return Check(name, "failed", str(error))


def loading(conf: TargetConf) -> list[Check]:
    """Whether Spark will load the plugin."""
    listed, jars, add = times_listed(conf), our_jars(conf), "aqe-plugin install adds it."
    if not listed and not jars:
        return [Check("plugin", "remark", "not installed", add)]
    if not listed:
        not_named = f"spark.jars lists the jar and {PLUGINS_KEY} does not name the plugin"
        return [Check("plugin", "failed", not_named, add)]
    times = f" {listed} times" if listed > 1 else ""
    checks = [outcome_of("plugin", listed == 1, f"{PLUGINS_KEY} names {PLUGIN_CLASS}{times}", "Keep one of them.")]
    if not jars:
        unless = "unless the jar is in Spark's own jars folder, every application fails to start"
        no_jar = f"{PLUGINS_KEY} names the plugin and spark.jars has no jar of it: {unless}"
        checks.append(Check("jar", "failed", no_jar, add))
    if len(jars) > 1:
        several = "spark.jars lists several jars of aqe-plugin"
        checks.append(Check("jar", "failed", several, "Keep the one that fits the cluster's Spark."))
    return [*checks, *(_jar_exists(jar, conf.runs_on_this_machine) for jar in jars)]


def _jar_exists(jar: str, on_this_machine: bool) -> Check:
    """A jar on another machine passes."""
    name, is_local = jar_name(jar), on_this_machine and (":" not in jar or jar.startswith("file:"))
    if is_local and not Path(jar.removeprefix("file:")).is_file():
        missing, fix = "does not exist: every application fails to start", "Put it back, or give install another --jar."
        return Check("jar", "failed", f"{jar} {missing}", fix)
    assert name is not None
    known = "exists" if is_local else "not on this machine, so not checked"
    return Check("jar", "ok", f"{jar} (version {name.version}, for Spark {name.line}, {known})")


def key_checks(conf: Mapping[str, str]) -> list[Check]:
    """The mode; whether the plugin knows each other key of its own that is set; and whether Spark plans adaptively.

    A key in other letters, ``spark.aqeplugin.mode`` say, is meant to be one, and Spark and the plugin ignore it. What
    stops every decision has a fix, and so has ``force``; a value of an unknown key or of a canary stops none.
    """
    checks = [mode_set(conf.get(MODE_KEY))]
    for key in sorted(key for key in conf if key.lower().startswith(PREFIX.lower()) and key != MODE_KEY):
        problem = problem_of(key, conf[key])
        found = f"{conf[key]}: {problem}" if problem else conf[key]
        fix = AS_IF_OFF if key in conf_keys() and not key.startswith(CANARY) else ""
        fix = AS_IF_NOT_FORCED if key == FORCE_KEY else fix
        checks.append(outcome_of(key, not problem, found, fix))
    if problem := adaptive_problem(conf):
        checks.append(Check(ADAPTIVE_KEY, "failed", f"{conf[ADAPTIVE_KEY]}: {problem}"))
    return checks


def adaptive_problem(conf: Mapping[str, str]) -> str:
    """What is wrong with the switch of Spark's adaptive execution, empty when it is on."""
    switch = conf.get(ADAPTIVE_KEY, "true").strip().lower()
    return {"true": "", "false": NO_ADAPTIVE}.get(switch, NOT_ADAPTIVE)


def nothing_decided(conf: Mapping[str, str]) -> list[Check]:
    """Those of :func:`key_checks` with which no join is decided."""
    return [
        check for check in key_checks(conf) if not check.ok and (check.fix == AS_IF_OFF or check.name == ADAPTIVE_KEY)
    ]


def right_rows(rows: int) -> Check:
    """Whether :func:`small_join` has the rows that it must have."""
    return outcome_of("rows", rows == JOIN_ROWS, f"a join gave {rows} of {JOIN_ROWS} rows", "Report this.")


def mode_set(value: str | None) -> Check:
    """The mode; ``None`` is the default."""
    if value is None:
        return Check("mode", "ok", f"{conf_keys()[MODE_KEY].default}, by default")
    problem = problem_of(MODE_KEY, value)
    return outcome_of("mode", not problem, f"{value}: {problem}" if problem else value, AS_IF_OFF)


def deciding(decisions: int, mode: str, foreign: str = "") -> Check:
    """Whether joins were decided; with the mode ``off`` none can be.

    Args:
        foreign: the operator of another engine for which a join was left alone.
    """
    if mode == "off":
        found, fix = "the mode is off, so nothing is decided.", "Set the mode to observe or apply."
        return Check("deciding", "not run", found, fix)
    if decisions:
        left_alone = f"; left alone beside another engine (FOREIGN_NODE: {foreign})" if foreign else ""
        return Check("deciding", "ok", f"joins decided in mode {mode}: {decisions}{left_alone}")
    fix = "If no check above failed, report this with the driver's log."
    return Check("deciding", "failed", "no join was decided.", fix)


def small_join(spark: SparkSession) -> DataFrame:
    """A join of :data:`JOIN_ROWS` rows that the plugin has to decide."""
    fact = spark.range(1000 * JOIN_ROWS).selectExpr("id % 1000 AS key", "id AS value")
    return fact.join(spark.range(1000).selectExpr("id AS key", "id AS name").where("name = 7"), "key").select("value")
