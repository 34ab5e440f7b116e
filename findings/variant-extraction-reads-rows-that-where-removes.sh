#!/usr/bin/env bash
# A strict extraction from a VARIANT fails on rows that a WHERE below it has removed, by default, when the variant comes from Parquet.
#
# Spark 4.1.3 and 4.3.0. spark.sql.variant.pushVariantIntoScan is on; the scan then gives the extracted number in place of the variant, and
# a strict extraction (variant_get, v:path::int) raises there, before the filter that guards it. An expert expects that a projection over a
# filter sees the filter's rows alone, as it does with the conf off. The error differs, too: the reader wraps the cast error in one of the
# file. In 4.1.3 the ON clause of a join is not pushed and the same guard holds there; in 4.3.0 it is pushed as well, so that a join that ran
# in 4.1 fails.
#
# Output seen:
# 4.1.3 projection FAILED_READ_FILE join 196 projection, conf off 196
# 4.3.0 projection FAILED_READ_FILE join FAILED_READ_FILE projection, conf off 196
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > job.py << 'EOJ'
import re

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
text = """IF(id % 50 = 0, '{"k": "none"}', '{"k": ' || id || '}')"""
spark.sql(f"SELECT id, parse_json({text}) AS v FROM range(200)").write.parquet("numbers")
spark.sql("SELECT CAST(id AS int) AS k FROM range(200)").write.parquet("keys")
guarded = "(SELECT * FROM parquet.`numbers` WHERE id % 50 <> 0)"
number = "variant_get(v, '$.k', 'int')"


def answer(query):
    try:
        return str(spark.sql(query).first()[0])
    except Exception as error:
        found = re.search(r"\[?(FAILED_READ_FILE|INVALID_VARIANT_CAST)", str(error))
        return found[1] if found else "another error"


projection = f"SELECT count(n) FROM (SELECT {number} AS n FROM {guarded})"
found = [spark.version, "projection", answer(projection)]
found += ["join", answer(f"SELECT count(*) FROM {guarded} JOIN parquet.`keys` d ON {number} = d.k")]
spark.conf.set("spark.sql.variant.pushVariantIntoScan", "false")
found += ["projection, conf off", answer(projection)]
print(*found)
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
[[ "$older" == "4.1.3 projection FAILED_READ_FILE join 196 projection, conf off 196" ]]
[[ "$newer" == "4.3.0 projection FAILED_READ_FILE join FAILED_READ_FILE projection, conf off 196" ]]
