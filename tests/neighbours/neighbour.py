"""What runs beside the plugin, each with the conf that its own documentation asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from aqe_plugin.conf.keys import PLUGIN_CLASS, PLUGINS_KEY

JARS = Path(__file__).resolve().parents[2] / ".build" / "neighbours"
_EXTENSIONS = "spark.sql.extensions"
_OURS = "io.aqeplugin.plugin.AqeExtensions"
_SALES = "SELECT id % 20000 AS item, id AS amount FROM range(400000)"
_ITEMS = "SELECT id AS item, concat('n', id) AS name FROM range(20000)"


@dataclass(frozen=True)
class Neighbour:
    """A small application beside one neighbour.

    Attributes:
        name: as the page has it.
        jar: a pattern of its jars' names, of which the first tells the version; empty for a part of Spark.
        way: which of several, such as an order of plugins.
        query: a name of `application.py`.
        setup: statements that make the tables.
        ran: what the plan has when the neighbour did its part.
        reason: why no filter can fire; empty where one must.
    """

    name: str
    jar: str = ""
    way: str = ""
    confs: Mapping[str, str] = field(default_factory=dict)
    query: str = "sql"
    setup: tuple[str, ...] = ()
    ran: str = ""
    reason: str = ""

    def jars(self) -> list[Path]:
        """Its jars.

        Raises:
            FileNotFoundError: they are not there.
        """
        found = sorted(JARS.glob(self.jar)) if self.jar else []
        if self.jar and not found:
            raise FileNotFoundError(f"{JARS} has no {self.jar}: run `make neighbour-jars`.")
        return found


def tables(form: str, *before: str, sales: str = _SALES, items: str = _ITEMS) -> tuple[str, ...]:
    return (*before, f"CREATE TABLE sales USING {form} AS {sales}", f"CREATE TABLE items USING {form} AS {items}")


def _orders(one: Neighbour, key: str, theirs: str, ours: str) -> Sequence[Neighbour]:
    """The neighbour named before the plugin, and after it."""
    return [
        replace(one, way=way, confs={**one.confs, key: value})
        for way, value in ((f"before the plugin in `{key}`", f"{theirs},{ours}"), ("behind it", f"{ours},{theirs}"))
    ]


_COMET_PLUGIN = "org.apache.spark.CometPlugin"
_OFF_HEAP = {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "1g"}
_SHUFFLE = {"spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"}
_COMET = Neighbour(
    "Apache DataFusion Comet",
    "comet-spark-*.jar",
    confs={**_SHUFFLE, **_OFF_HEAP},
    setup=tables("parquet"),
    ran="CometSortMergeJoin",
)
_BESIDE_COMET = replace(_COMET, confs={**_COMET.confs, PLUGINS_KEY: f"{_COMET_PLUGIN},{PLUGIN_CLASS}"})
_DELTA = Neighbour(
    "Delta",
    "delta-*.jar",
    confs={"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"},
    setup=tables("delta"),
)
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_ICEBERG = Neighbour(
    "Apache Iceberg",
    "iceberg-*.jar",
    confs={"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type": "hadoop"},
    setup=tables("iceberg", "CREATE NAMESPACE lake.shop", "USE lake.shop"),
    ran="BatchScan",
)
_LINEAGE = Neighbour(
    "OpenLineage",
    "openlineage-*.jar",
    "names the same sources of a table that is written",
    confs={
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "file",
    },
    query="created",
    setup=tables("parquet"),
)
_PLAIN = Neighbour("", setup=tables("parquet"))
_COLLATED = "SELECT concat({}, id % 20000) COLLATE UTF8_LCASE AS item"

NEIGHBOURS: Sequence[Neighbour] = (
    *_orders(_COMET, PLUGINS_KEY, _COMET_PLUGIN, PLUGIN_CLASS),
    replace(_BESIDE_COMET, way="a cached build side", setup=(*tables("parquet"), "CACHE TABLE items"), ran="CometSort"),
    replace(_BESIDE_COMET, way="tables of CSV, which it does not scan", setup=tables("csv"), ran="CometSort"),
    *(
        replace(_BESIDE_COMET, way=way, confs={**some, PLUGINS_KEY: _BESIDE_COMET.confs[PLUGINS_KEY]}, ran="")
        for way, some in (("without its shuffle manager", _OFF_HEAP), ("without off-heap memory", _SHUFFLE))
    ),
    *_orders(_DELTA, _EXTENSIONS, _DELTA_EXTENSION, _OURS),
    replace(
        _DELTA,
        way="its V2 connector",
        confs={**_DELTA.confs, _EXTENSIONS: _DELTA_EXTENSION},
        setup=(*_DELTA.setup, "SET spark.databricks.delta.v2.enableMode=STRICT"),
        ran="BatchScan",
    ),
    *_orders(_ICEBERG, _EXTENSIONS, "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions", _OURS),
    _LINEAGE,
    replace(_PLAIN, name="pandas API on Spark", way="joined by the index", query="pandas_indexed"),
    replace(
        _PLAIN,
        name="pandas API on Spark",
        way="with the index that it counts by itself",
        query="pandas",
        ran="AttachDistributedSequence",
        reason="NON_DETERMINISTIC",
    ),
    replace(_PLAIN, name="Python UDFs", way="below and above the join", query="python_udf", ran="BatchEvalPython"),
    replace(_PLAIN, name="Arrow UDFs", way="below and above the join", query="arrow_udf", ran="ArrowEvalPython"),
    replace(_PLAIN, name="ANSI mode", way="on", confs={"spark.sql.ansi.enabled": "true"}),
    replace(_PLAIN, name="ANSI mode", way="off", confs={"spark.sql.ansi.enabled": "false"}),
    replace(
        _PLAIN,
        name="Collations",
        way="a key in `UTF8_LCASE`",
        setup=tables(
            "parquet",
            sales=_COLLATED.format("'N'") + ", id AS amount FROM range(400000)",
            items=_COLLATED.format("'n'") + ", concat('n', id) AS name FROM range(20000)",
        ),
    ),
)
