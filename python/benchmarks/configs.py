"""The contenders: a name and session confs each."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from workloads.tpcds.queries import Query

MODE_KEY = "spark.aqePlugin.mode"
COMET_KEY = "spark.comet.enabled"


class Tables(Enum):
    """Which tables a contender reads.

    Attributes:
        WHOLE: all rows.
        REDUCED: copies that were reduced by hand to the rows that reach the answer.
        SEMI_JOINED: all rows, of which a broadcast semi-join keeps those of the reduced copies.
    """

    WHOLE = "whole"
    REDUCED = "reduced"
    SEMI_JOINED = "semi-joined"


@dataclass(frozen=True)
class Contender:
    """One way of running a query, set between two queries of one session.

    Attributes:
        tables: what it reads; queries without reduced tables run over whole ones only.
    """

    name: str
    says: str
    confs: dict[str, str]
    tables: Tables = Tables.WHOLE

    @property
    def needs_plugin(self) -> bool:
        return self.confs.get(MODE_KEY, "off") != "off"

    @property
    def needs_comet(self) -> bool:
        """Whether Apache DataFusion Comet carries out its plans: such a contender's rows are held against Comet's."""
        return self.confs.get(COMET_KEY) == "true"


# Spark's own filter fires only above 10 GB scans unless its size gates are opened.
_FORCED_BLOOM = {
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
    "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold": "1g",
}

_COMET = {COMET_KEY: "true"}

CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender("default", "Spark as it comes", {MODE_KEY: "off"}),
        Contender("forced", "Spark with its own Bloom filter forced on", {MODE_KEY: "off", **_FORCED_BLOOM}),
        Contender("oracle", "Spark as it comes, over tables reduced by hand", {MODE_KEY: "off"}, Tables.REDUCED),
        Contender(
            "semijoin-oracle",
            "Spark as it comes, over whole tables that a broadcast semi-join reduces",
            {MODE_KEY: "off"},
            Tables.SEMI_JOINED,
        ),
        Contender("observe", "the plugin decides and records, plans stay Spark's", {MODE_KEY: "observe"}),
        Contender("plugin", "the plugin decides and acts", {MODE_KEY: "apply"}),
        Contender(
            "open",
            "the plugin with every gate of its cost model open",
            {MODE_KEY: "apply", "spark.aqePlugin.test.openGates": "true"},
        ),
        Contender("comet", "Comet alone", {MODE_KEY: "off", **_COMET}),
        Contender(
            "comet-forced", "Comet with Spark's Bloom filter forced on", {MODE_KEY: "off", **_COMET, **_FORCED_BLOOM}
        ),
        Contender("comet-plugin", "Comet, and the plugin decides and acts", {MODE_KEY: "apply", **_COMET}),
    )
}


def contenders(names: Iterable[str]) -> list[Contender]:
    """The contenders of these names, in this order. Beside one of Comet's, the others switch Comet off.

    Raises:
        ValueError: a name is unknown; the message lists the known ones.
    """
    wanted = list(names)
    unknown = [name for name in wanted if name not in CONTENDERS]
    if unknown:
        raise ValueError(f"unknown config {', '.join(unknown)}; there are: {', '.join(CONTENDERS)}")
    found = [CONTENDERS[name] for name in wanted]
    if not any(contender.needs_comet for contender in found):
        return found
    return [replace(contender, confs={COMET_KEY: "false", **contender.confs}) for contender in found]


def chosen_queries(names: str, known: dict[str, Query]) -> list[Query]:
    """The queries of a comma-separated list, or all of them for `all`.

    Raises:
        ValueError: a name is unknown.
    """
    if names == "all":
        return list(known.values())
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"unknown query {', '.join(unknown)}; there are: {', '.join(known)}")
    return [known[name] for name in wanted]
