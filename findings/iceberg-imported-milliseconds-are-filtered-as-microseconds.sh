#!/usr/bin/env bash
# A condition on a timestamp finds no row of a Parquet file with milliseconds that an Iceberg table has imported, though the rows read right.
#
# Iceberg 1.12.0 with Spark 4.1.3. Parquet has two units for timestamps, and Spark writes milliseconds where outputTimestampType says so.
# `add_files` takes such a file as it is: a query without a condition gives the right times. But the bounds that are kept for the file,
# and those of its row groups, are the milliseconds, which conditions take for microseconds: the file seems to be of January 1970, and a
# condition that its rows fulfil leaves it out. min(at), which Iceberg answers from the bounds, is of that month, too. An expert expects either no bounds for a unit that is not Iceberg's own, or bounds in the
# unit of the type. Whoever leaves out files by the bounds in manifests has
# to take both units into account.
#
# Output seen:
# 4.1.3 rows 3 from 2024-01-01 00:00:00.123, min 1970-01-20 17:21:07.200123, equal 0, from the third day 0, after 1980 0; without the table 1 1 3
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyspark==4.1.3
mvn --batch-mode --quiet dependency:copy -Dartifact=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0 -DoutputDirectory=. >&2
cat > job.py << 'EOJ'
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.jars", "iceberg-spark-runtime-4.1_2.13-1.12.0.jar")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.ice.type", "hadoop")
    .config("spark.sql.catalog.ice.warehouse", "warehouse")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")
spark.sql("SELECT TIMESTAMP'2024-01-01 00:00:00.123' + make_interval(0, 0, 0, CAST(id AS int)) AS at FROM range(3)").coalesce(
    1
).write.parquet("millis")
spark.sql("CREATE TABLE ice.db.t (at timestamp) USING iceberg")
spark.sql("CALL ice.system.add_files(table => 'db.t', source_table => 'parquet.`millis`')")
conditions = ("at = TIMESTAMP'2024-01-01 00:00:00.123'", "at >= TIMESTAMP'2024-01-03'", "at > TIMESTAMP'1980-01-01'")


def found(table):
    return [spark.sql(f"SELECT count(*) FROM {table} WHERE {condition}").first()[0] for condition in conditions]


first, *others = [row[0] for row in spark.sql("SELECT CAST(at AS string) FROM ice.db.t ORDER BY at").collect()]
least = spark.sql("SELECT CAST(min(at) AS string) FROM ice.db.t").first()[0]
equal, late, after = found("ice.db.t")
told = f"rows {1 + len(others)} from {first}, min {least}, equal {equal}, from the third day {late}, after 1980 {after}"
print(spark.version, f"{told}; without the table", *found("parquet.`millis`"))
EOJ
seen="$(venv/bin/python job.py 2> errors.txt)"
printf '%s\n' "$seen"
[[ "$seen" == "4.1.3 rows 3 from 2024-01-01 00:00:00.123, min 1970-01-20 17:21:07.200123, equal 0, from the third day 0, after 1980 0; without the table 1 1 3" ]]
