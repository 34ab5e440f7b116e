#!/usr/bin/env bash
# Delta reads every file between the least and the greatest value of an IN list; the same values joined by OR read only the files that can hold one.
#
# Delta 4.4.0 with Spark 4.1.3. Ten files of a table hold ten disjoint ranges of a key. `k IN (5, 995)` is true of rows of two files, and the
# files' statistics say so, but Delta's data skipping keeps all ten: it compares each file with the range from 5 to 995. `k = 5 OR k = 995`
# keeps two.
#
# Output seen:
# 4.1.3 k IN (5, 995): files 10, k = 5 OR k = 995: files 2, k IN (5, 15): files 1
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
table = spark.table(f"delta.`{Path('t').resolve()}`")


def files(condition, rows):
    frame = table.where(condition)
    assert frame.count() == rows
    plan = frame._jdf.queryExecution().executedPlan()
    assert len(frame.collect()) == rows
    leaves = plan.collectLeaves()
    scans = [leaf for leaf in map(leaves.apply, range(leaves.size())) if leaf.nodeName().startswith("Scan")]
    return f"{condition}: files {sum(int(scan.metrics().apply('numFiles').value()) for scan in scans)}"


print(spark.version, ", ".join([files("k IN (5, 995)", 2), files("k = 5 OR k = 995", 2), files("k IN (5, 15)", 2)]))
EOJ
seen="$(venv/bin/python job.py 2> errors.txt)"
printf '%s\n' "$seen"
[[ "$seen" == "4.1.3 k IN (5, 995): files 10, k = 5 OR k = 995: files 2, k IN (5, 15): files 1" ]]
