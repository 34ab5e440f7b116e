"""Tables of Delta and Iceberg have the rows of the Parquet files, and a session of the plugin reads them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extent import only_in_test_all
from workloads.tpcds import lake
from workloads.tpcds.data import dataset_folder
from workloads.tpcds.lake import LAKE_FORMATS, lake_folder

_FORMATS = sorted(LAKE_FORMATS)


@pytest.mark.parametrize("name", _FORMATS)
def test_a_format_without_its_jars_says_what_to_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake, "_JARS", tmp_path)
    with pytest.raises(FileNotFoundError, match="make neighbour-jars"):
        LAKE_FORMATS[name].session(tmp_path)


# In a process of its own: a JVM that runs takes no more jars for its driver.
_WRITES_TWICE = """
import sys
from pathlib import Path
import aqe_plugin
from pyspark.sql import SparkSession
from workloads.tpcds import ensure_dataset
from workloads.tpcds.lake import LAKE_FORMATS, lake_folder, register_lake

lake = LAKE_FORMATS[sys.argv[1]]
dataset = ensure_dataset(0.01, tables=("date_dim", "web_returns"))
by_date = sys.argv[2] == "True"
folder = lake_folder(dataset.folder, lake, by_date)
builder = SparkSession.builder.master("local[1]").config("spark.aqePlugin.test.openGates", "true")
for key, value in lake.session(folder).items():
    builder = builder.config(key, value)
spark = aqe_plugin.configure(builder, mode="apply").getOrCreate()
reports = []
register_lake(dataset, lake, spark, reports.append, by_date)
assert reports == [f"{table} in {lake.name}, table {number} of 2" for number, table in enumerate(dataset.rows, 1)]
for table in dataset.rows:
    files = spark.read.parquet(str(dataset.folder / table))
    assert spark.table(table).exceptAll(files).isEmpty() and files.exceptAll(spark.table(table)).isEmpty(), table
text = "select count(*) from web_returns join date_dim on wr_returned_date_sk = d_date_sk where d_moy = 2"
joined = spark.sql(text)
rows = joined.collect()
assert "RuntimeFilter" in joined._jdf.queryExecution().executedPlan().toString()
with aqe_plugin.AqePlugin(spark).switch_off():
    assert spark.sql(text).collect() == rows
register_lake(dataset, lake, spark, reports.append, by_date)
assert len(reports) == 2
dates = [row[0] or 0 for row in spark.table("web_returns").select("wr_returned_date_sk").collect()]
assert (dates == sorted(dates)) == by_date
print("done")
"""


@only_in_test_all
@pytest.mark.spark
@pytest.mark.parametrize("by_date", [False, True])
@pytest.mark.parametrize("name", _FORMATS)
def test_tables_have_the_same_rows_in_their_order_and_are_written_once(
    name: str, by_date: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AQE_PLUGIN_DATA", str(tmp_path))
    command = [sys.executable, "-c", _WRITES_TWICE, name, str(by_date)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.strip().endswith("done")
    folder = lake_folder(dataset_folder(0.01), LAKE_FORMATS[name], by_date)
    assert {place.name for place in folder.iterdir()} == {"date_dim", "web_returns"}
