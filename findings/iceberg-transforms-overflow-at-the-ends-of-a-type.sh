#!/usr/bin/env bash
# A condition that every row of an Iceberg table fulfils, `k >= the least BIGINT`, finds no row where the table is partitioned by truncate or hours.
#
# Iceberg 1.12.0 with Spark 4.1.3. Conditions are projected onto partitions by the transform of their constant. The truncation of the least
# number underflows to one near the greatest, and hours are cut to 32 bits, which changes the sign of those at both ends; so all partitions
# are left out, without an error. The same condition over a table without partitions, or with a width that is a power of two, finds all rows.
# An expert expects a condition that is true of every
# value to leave out nothing.
#
# Output seen:
# 4.1.3 truncate(100, k) 0 truncate(64, k) 100 hours(at) 0 days(at) 100 none 100
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
rows = "SELECT id AS k, TIMESTAMP'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, CAST(id AS int)) AS at FROM range(100)"
told = [spark.version]
for number, transform in enumerate(["truncate(100, k)", "truncate(64, k)", "hours(at)", "days(at)", "none"]):
    partitioned = "" if transform == "none" else f"PARTITIONED BY ({transform})"
    spark.sql(f"CREATE TABLE ice.db.t{number} USING iceberg {partitioned} AS {rows}")
    condition = "at >= timestamp_micros(-9223372036854775808)" if "at)" in transform else "k >= -9223372036854775808"
    told += [transform, spark.sql(f"SELECT count(*) FROM ice.db.t{number} WHERE {condition}").first()[0]]
print(*told)
EOJ
seen="$(venv/bin/python job.py 2> errors.txt)"
printf '%s\n' "$seen"
[[ "$seen" == "4.1.3 truncate(100, k) 0 truncate(64, k) 100 hours(at) 0 days(at) 100 none 100" ]]
