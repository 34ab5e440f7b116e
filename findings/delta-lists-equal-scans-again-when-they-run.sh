#!/usr/bin/env bash
# Of two equal scans of a Delta table in one query, the files are selected once while the query is planned, and once more, by a job, when it runs.
#
# Delta 4.4.0 with Spark 4.1.3. PrepareDeltaScan keeps what it has selected for a scan and gives it to every equal scan of the query, whose
# columns have other ids. When the second scan runs, it compares its conditions with the prepared ones, ids included, takes them for new
# ones, and reads the log once more by a job, amid the tasks of the query; on a busy cluster it waits for a slot. Two scans that differ, in
# a condition that selects the same files, are both selected while planning. An expert expects the equal ones to be the cheaper, as the
# second selection is saved while planning.
#
# Output seen:
# 4.1.3 equal: planning 1 running 1, different: planning 2 running 0
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyspark==4.1.3
for artifact in io.delta:delta-spark_4.1_2.13:4.4.0 io.delta:delta-storage:4.4.0; do
  mvn --batch-mode --quiet dependency:copy "-Dartifact=$artifact" -DoutputDirectory=jars >&2
done
cat > job.py << 'EOJ'
from pathlib import Path

from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.extraClassPath", ":".join(map(str, Path("jars").glob("*.jar"))))
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.databricks.delta.snapshotPartitions", "1")
    .getOrCreate()
)
spark.range(0, 1000, 1, 10).selectExpr("id AS k", "id AS v").write.format("delta").save("t")
store = spark._jsparkSession.sharedState().statusStore()
table = f"delta.`{Path('t').resolve()}`"
spark.table(table).count()


def selections():
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    every = store.executionsList()
    return sum("filesForScan" in every.apply(i).details() for i in range(every.size()))


def selected(more):
    frame = spark.sql(f"SELECT k FROM {table} WHERE v >= 0 UNION ALL SELECT k FROM {table} WHERE v >= {more}")
    before = selections()
    frame._jdf.queryExecution().executedPlan()
    planned = selections()
    assert len(frame.collect()) == 2000
    return f"planning {planned - before} running {selections() - planned}"


print(f"{spark.version} equal: {selected(0)}, different: {selected(-1)}")
EOJ
seen="$(venv/bin/python job.py 2> errors.txt)"
printf '%s\n' "$seen"
[[ "$seen" == "4.1.3 equal: planning 1 running 1, different: planning 2 running 0" ]]
