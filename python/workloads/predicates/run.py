"""Runs cells: their rows by Spark alone and with the plugin, and the filters and files of both sides' scans."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.configs import Contender
from benchmarks.session import turn_of
from workloads.predicates.cells import LEFT, RIGHT, Cell, Pair
from workloads.predicates.conditions import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = Contender("spark", "Spark alone", {"spark.aqePlugin.mode": "off"})
PLUGIN = Contender("plugin", "with the plugin", {"spark.aqePlugin.mode": "apply"})

# These queries are tiny: compiling one takes longer than running it.
_QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": "0",
}
_PLANNED_ONCE = {"spark.sql.adaptive.enabled": "false"}
# As many queries as one plan takes without planning becoming slower than running.
_BATCH = 24


@dataclass(frozen=True)
class Scan:
    """What the scan of one side filters by, conditions on nulls alone left out, and how many files it opens."""

    filters: frozenset[str]
    files: int


Scans = dict[str, Scan]


@dataclass(frozen=True)
class Finding:
    """What both sides' scans of one cell do, by Spark alone and with the plugin."""

    cell: Cell
    spark: Scans
    plugin: Scans

    def added(self, side: str) -> frozenset[str]:
        """The filters of a side, `l` or `r`, that only the plugin gives it."""
        if side not in self.plugin or side not in self.spark:
            return frozenset()
        return self.plugin[side].filters - self.spark[side].filters


def write_tables(spark: "SparkSession", folder: Path) -> None:
    """Writes both sides, as plain files and partitioned by two columns, and registers them as views."""
    columns = [name for name in LEFT[0] if name != "id"]
    schema = "id INT, " + ", ".join(f"{name} STRING" for name in columns)
    for side, rows in (("l", LEFT), ("r", RIGHT)):
        frame = spark.sql(f"SELECT * FROM VALUES {', '.join(map(_literals, rows))} AS t({', '.join(LEFT[0])})")
        plain, partitioned = (str(folder / f"{side}_{store}") for store in ("files", "partitions"))
        frame.repartition(2).write.mode("overwrite").parquet(plain)
        frame.repartition(1).write.mode("overwrite").partitionBy("p", "pn").parquet(partitioned)
        spark.read.schema(schema).parquet(plain).createOrReplaceTempView(f"{side}_files")
        spark.read.schema(schema).parquet(partitioned).createOrReplaceTempView(f"{side}_partitions")


def _literals(row: Row) -> str:
    values = ("NULL" if value is None else repr(value) for value in row.values())
    return f"({', '.join(values)})"


def rows_of(spark: "SparkSession", cells: Sequence[Cell], contender: Contender) -> Iterator[tuple[Cell, list[Pair]]]:
    """The rows of each cell, sorted as the cell's own; several cells are one query."""
    for start in range(0, len(cells), _BATCH):
        batch = cells[start : start + _BATCH]
        query = " UNION ALL ".join(
            f"SELECT {number} AS cell, q.* FROM ({cell.sql()}) AS q(l, r)" for number, cell in enumerate(batch)
        )
        found: dict[int, list[Pair]] = defaultdict(list)
        with turn_of(spark, Contender("", "", {**contender.confs, **_QUICK})):
            for number, left, right in spark.sql(query).collect():
                found[number].append((left, right))
        for number, cell in enumerate(batch):
            yield cell, sorted(found[number], key=lambda pair: tuple(-1 if value is None else value for value in pair))


def findings(spark: "SparkSession", cells: Sequence[Cell]) -> Iterator[Finding]:
    """What is scanned for each cell; nothing runs."""
    for (cell, alone), (_, with_plugin) in zip(
        list(scans_of(spark, cells, SPARK)), list(scans_of(spark, cells, PLUGIN)), strict=True
    ):
        yield Finding(cell, alone, with_plugin)


def scans_of(spark: "SparkSession", cells: Iterable[Cell], contender: Contender) -> Iterator[tuple[Cell, Scans]]:
    """What Spark would scan for each cell; nothing runs. A side that Spark does not read at all is missing."""
    with turn_of(spark, Contender("", "", {**contender.confs, **_QUICK, **_PLANNED_ONCE})):
        for cell in cells:
            yield cell, _scans(spark.sql(cell.sql())._jdf.queryExecution().executedPlan())


def _scans(plan: Any) -> Scans:
    leaves = plan.collectLeaves()
    every = (leaves.apply(index) for index in range(leaves.size()))
    return dict(_scan(leaf) for leaf in every if leaf.nodeName().startswith("Scan parquet"))


def _scan(leaf: Any) -> tuple[str, Scan]:
    name: str = leaf.relation().location().rootPaths().head().getName()
    conditions = leaf.partitionFilters().toList().appendedAll(leaf.dataFilters())
    texts = (conditions.apply(i).toString() for i in range(conditions.size()))
    filters = frozenset(_without_ids(text) for text in texts if not text.startswith("isnotnull("))
    return name[0], Scan(filters, leaf.selectedPartitions().totalNumberOfFiles())


def _without_ids(text: str) -> str:
    parts = text.split("#")
    return parts[0] + "".join(part.lstrip("0123456789L") for part in parts[1:])
