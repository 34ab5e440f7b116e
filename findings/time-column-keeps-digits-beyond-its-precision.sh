#!/usr/bin/env bash
# A column that is declared TIME(0) has fractions of a second in Spark 4.1.3 when it is read from Parquet files that hold microseconds.
#
# With a schema of TIME(0), or after a table's column was declared coarser than what its files hold, an expert expects what CAST(... AS TIME(0))
# gives, as for decimals of another scale, or an error. 4.1.3 reads the microseconds as they are: the value prints with six digits beyond its
# type's precision, and an equality or a join with the time that it prints without them finds nothing. 4.3.0 cuts the value when it reads it,
# so the same query over the same files finds the row. Whoever compares keys with the statistics of such files has to know which of the two
# reads them: in 4.3.0 a value of 12:00:00 lies in a file whose range begins after it.
#
# Output seen:
# 4.1.3 value 12:00:00.123456 of time(0), equal 0, joined 0
# 4.3.0 value 12:00:00 of time(0), equal 1, joined 1
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > job.py << 'EOJ'
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.timeType.enabled", "true")
spark.sql("SELECT CAST('12:00:00.123456' AS TIME(6)) AS k").write.parquet("times")
spark.read.schema("k TIME(0)").parquet("times").createOrReplaceTempView("t")
noon = "CAST('12:00:00' AS TIME(0))"
value, of = spark.sql("SELECT CAST(k AS string), typeof(k) FROM t").first()
equal = spark.sql(f"SELECT count(*) FROM t WHERE k = {noon}").first()[0]
joined = spark.sql(f"SELECT count(*) FROM t JOIN (SELECT {noon} AS n FROM range(1)) ON k = n").first()[0]
print(f"{spark.version} value {value} of {of}, equal {equal}, joined {joined}")
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
[[ "$older" == "4.1.3 value 12:00:00.123456 of time(0), equal 0, joined 0" ]]
[[ "$newer" == "4.3.0 value 12:00:00 of time(0), equal 1, joined 1" ]]
