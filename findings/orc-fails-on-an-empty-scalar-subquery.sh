#!/usr/bin/env bash
# A comparison with a scalar subquery that gives null fails the query on ORC, and no row on Parquet.
#
# Spark 4.1.3 and 4.3.0. Since scalar subqueries are pushed into scans, the ORC reader gets their value as a literal of its search
# argument, and a null one is not left out as a null in the query's text is: the read fails with a NullPointerException. It takes no more
# than `max` over no row, such as "what is newer than the latest row of a table that is still empty".
#
# Output seen:
# 4.1.3 parquet 0 0 orc 0 FAILED_READ_FILE.NO_HINT NullPointerException
# 4.3.0 parquet 0 0 orc 0 FAILED_READ_FILE.NO_HINT NullPointerException
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > job.py << 'EOJ'
import re

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
latest = "(SELECT max(id) FROM range(10) WHERE id > 100)"
said = [spark.version]
for kind in ("parquet", "orc"):
    spark.range(10).write.format(kind).save(kind)
    spark.read.format(kind).load(kind).createOrReplaceTempView(kind)
    said.append(kind)
    for value in ("CAST(NULL AS bigint)", latest):
        try:
            said.append(str(spark.sql(f"SELECT * FROM {kind} WHERE id >= {value}").count()))
        except Py4JJavaError as error:
            text = str(error)
            said.append(re.search(r"\[([\w.]+)\]", text)[1])
            said.append("NullPointerException" if "Caused by: java.lang.NullPointerException" in text else "another error")
print(*said)
EOJ

run() {
  python3 -m venv "venv-$1"
  "venv-$1/bin/pip" install --quiet --disable-pip-version-check "pyspark==$1"
  (mkdir "run-$1" && cd "run-$1" && "../venv-$1/bin/python" ../job.py 2> errors.txt)
  rm -rf "venv-$1"
}
older="$(run 4.1.3)"
newer="$(run 4.3.0)"
printf '%s\n' "$older" "$newer"
[[ "$older" == "4.1.3 parquet 0 0 orc 0 FAILED_READ_FILE.NO_HINT NullPointerException" ]]
[[ "$newer" == "4.3.0 parquet 0 0 orc 0 FAILED_READ_FILE.NO_HINT NullPointerException" ]]
