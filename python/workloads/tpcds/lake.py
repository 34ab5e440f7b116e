"""TPC-DS in tables of Delta and of Iceberg, which Spark writes from the Parquet files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workloads.tpcds.data import Dataset
from workloads.tpcds.partitioned import DATE_COLUMNS

_JARS = Path(__file__).resolve().parents[3] / ".build" / "neighbours"
# Iceberg's catalog of the session: a folder of tables.
_CATALOG = "lake"


@dataclass(frozen=True)
class LakeFormat:
    """A table format.

    Attributes:
        name: as in `spark.read.format(name)`.
        confs: what its documentation asks a session for, without the jars and the folder of the tables.
        folder_key: the conf for that folder; None if its tables are read by their path.
        marker: what a finished table has in its folder.
    """

    name: str
    confs: Mapping[str, str]
    folder_key: str | None
    marker: str

    def session(self, folder: Path) -> dict[str, str]:
        """The confs of a session that reads and writes the tables in this folder.

        Raises:
            FileNotFoundError: the format's jars are not there.
        """
        jars = sorted(_JARS.glob(f"*{self.name}*.jar"))
        if not jars:
            raise FileNotFoundError(f"{_JARS} has no jar of {self.name}: run `make neighbour-jars`.")
        place = {} if self.folder_key is None else {self.folder_key: folder.as_uri()}
        return {**self.confs, **place, "spark.jars": ",".join(map(str, jars))}

    def exists(self, folder: Path, table: str) -> bool:
        """Whether the table was written to its end."""
        return (folder / table / self.marker).exists()

    def write(self, spark: Any, source: Path, folder: Path, table: str, order: str | None = None) -> None:
        """Writes the rows of a folder of Parquet files, in place of what an earlier try has left.

        Args:
            order: the column by which rows and files are in order; None if they stay as they are.
        """
        rows = spark.read.parquet(str(source))
        rows = rows.sort(order) if order else rows
        if self.folder_key is None:
            rows.write.format(self.name).mode("overwrite").save(str(folder / table))
        else:
            rows.writeTo(f"{_CATALOG}.{table}").using(self.name).createOrReplace()

    def read(self, spark: Any, folder: Path, table: str) -> Any:
        """The table as a DataFrame."""
        if self.folder_key is None:
            return spark.read.format(self.name).load(str(folder / table))
        return spark.table(f"{_CATALOG}.{table}")


LAKE_FORMATS: Mapping[str, LakeFormat] = MappingProxyType(
    {
        "delta": LakeFormat(
            "delta",
            {
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            },
            folder_key=None,
            marker="_delta_log/00000000000000000000.json",
        ),
        "iceberg": LakeFormat(
            "iceberg",
            {
                "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
                f"spark.sql.catalog.{_CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
                f"spark.sql.catalog.{_CATALOG}.type": "hadoop",
            },
            folder_key=f"spark.sql.catalog.{_CATALOG}.warehouse",
            marker="metadata/version-hint.text",
        ),
    }
)


def lake_folder(dataset_folder: Path, lake: LakeFormat, by_date: bool = False) -> Path:
    """Where the copy of a data set in this format is: beside it."""
    return dataset_folder.with_name(f"{dataset_folder.name}-{lake.name}{'-by-date' if by_date else ''}")


def register_lake(
    dataset: Dataset,
    lake: LakeFormat,
    spark: Any,
    report: Callable[[str], None] = lambda _: None,
    by_date: bool = False,
) -> None:
    """Makes every table of this format a temporary view of `spark`; writes those that are missing.

    Args:
        spark: a session with the confs `lake.session(lake_folder(dataset.folder, lake, by_date))`.
        by_date: whether the files of the fact tables are in the order of their dates.
    """
    folder = lake_folder(dataset.folder, lake, by_date)
    for number, table in enumerate(dataset.rows, start=1):
        if not lake.exists(folder, table):
            report(f"{table} in {lake.name}, table {number} of {len(dataset.rows)}")
            lake.write(spark, dataset.folder / table, folder, table, DATE_COLUMNS.get(table) if by_date else None)
        lake.read(spark, folder, table).createOrReplaceTempView(table)
