#!/usr/bin/env bash
# With Delta's SQL extension in a session, spark.sql(text, args) fails for every query with a parameter, of whichever table.
#
# Delta 4.4.0 with Spark 4.1.3. Spark gives parameters to ParserInterface.parsePlanWithParameters, whose default leaves them out; the
# extension's parser has a parsePlan of its own and that default. So the marker is still there when the query is analysed, and the error
# says that it is unbound. An expert expects an extension that adds a few commands to leave `SELECT :x` alone. A library that uses
# parameters for its own SQL fails in such a session alone.
#
# Output seen:
# 4.1.3 without 7 with UNBOUND_SQL_PARAMETER
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
import re
import sys
from pathlib import Path

from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.extraClassPath", ":".join(map(str, Path("jars").glob("*.jar"))))
if sys.argv[1] == "with":
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
spark = builder.getOrCreate()
try:
    answer = spark.sql("SELECT :x AS x", {"x": 7}).first()[0]
except Exception as error:
    answer = re.search(r"\[([A-Z_]+)", str(error))[1]
print(spark.version if sys.argv[1] == "without" else "", sys.argv[1], answer, end="")
EOJ
seen="$(venv/bin/python job.py without 2> errors.txt)$(venv/bin/python job.py with 2>> errors.txt)"
printf '%s\n' "$seen"
[[ "$seen" == "4.1.3 without 7 with UNBOUND_SQL_PARAMETER" ]]
