"""Which of Spark's own suites are run, and in which modes."""

from dataclasses import dataclass
from enum import Enum

_SQL = "org.apache.spark.sql"
_PLUGIN = "-Dspark.plugins=io.aqeplugin.AqePlugin"


class Mode(Enum):
    """How the plugin stands while a suite runs; the value is its name on the command line and in the list."""

    PLAIN = "plain"
    """Without the plugin: what fails here is not ours."""
    NORMAL = "normal"
    """As a user has it."""
    OPEN = "open"
    """Every legal filter is built and every legal wait is made, whether or not it pays."""

    @property
    def has_plugin(self) -> bool:
        return self is not Mode.PLAIN

    @property
    def java_options(self) -> tuple[str, ...]:
        if self is Mode.PLAIN:
            return ()
        return (_PLUGIN,) if self is Mode.NORMAL else (_PLUGIN, "-Dspark.aqePlugin.test.openGates=true")


_QUERY_FILES = (
    "[a-t]*-join*.sql",
    "using-join.sql",
    "join-*.sql",
    "postgreSQL/join.sql",
    "subquery/*.sql",
    "group-by*.sql",
    "cte*.sql",
    "except*.sql",
    "intersect*.sql",
    "union*.sql",
)


@dataclass(frozen=True)
class Suite:
    """One of Spark's suites.

    Attributes:
        class_name: fully qualified.
        min_filters: filters that must at least be applied while it runs with every gate open.
        quick_modes: modes in which it is part of `make test-all`.
        query_files: which of Spark's query files it is to find, as patterns.
    """

    class_name: str
    min_filters: int
    quick_modes: tuple[Mode, ...] = ()
    query_files: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.class_name.rpartition(".")[2]


# Somewhat fewer filters than a run has: AQE finishes stages in an order of its own, and a few joins are decided by it.
SUITES = (
    Suite(f"{_SQL}.execution.joins.OuterJoinSuite", min_filters=2, quick_modes=(Mode.OPEN,)),
    # These two make plans by hand and run them; no query of theirs reaches AQE.
    Suite(f"{_SQL}.execution.joins.InnerJoinSuite", min_filters=0, quick_modes=(Mode.OPEN,)),
    Suite(f"{_SQL}.execution.joins.ExistenceJoinSuite", min_filters=0, quick_modes=(Mode.OPEN,)),
    Suite(f"{_SQL}.DataFrameJoinSuite", min_filters=12, quick_modes=(Mode.OPEN,)),
    Suite(f"{_SQL}.InjectRuntimeFilterSuite", min_filters=20, quick_modes=(Mode.OPEN,)),
    Suite(f"{_SQL}.JoinSuite", min_filters=55),
    Suite(f"{_SQL}.SubquerySuite", min_filters=30),
    Suite(f"{_SQL}.execution.adaptive.AdaptiveQueryExecSuite", min_filters=70),
    Suite(f"{_SQL}.DynamicPartitionPruningV1SuiteAEOn", min_filters=20),
    Suite(f"{_SQL}.connector.KeyGroupedPartitioningSuite", min_filters=25),
    Suite(f"{_SQL}.sources.BucketedReadWithoutHiveSupportSuite", min_filters=40),
    # Two tests of joins that a plan has twice: they must not get a filter.
    Suite(f"{_SQL}.execution.ReuseExchangeAndSubquerySuite", min_filters=0),
    Suite(f"{_SQL}.CachedTableSuite", min_filters=7),
    Suite(f"{_SQL}.SQLQueryTestSuite", min_filters=0, query_files=_QUERY_FILES),
)


PRIMARY = "4.1"
"""The Spark line that `make test-all` runs them on, `SparkLines.Primary` of the build."""


@dataclass(frozen=True)
class Turn:
    """One suite in one mode on one Spark line: what one JVM runs."""

    suite: Suite
    mode: Mode
    line: str = PRIMARY

    def __str__(self) -> str:
        name = f"{self.suite.name} {self.mode.value}"
        return name if self.line == PRIMARY else f"{name} on Spark {self.line}"
