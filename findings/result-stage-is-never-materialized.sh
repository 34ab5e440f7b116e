#!/usr/bin/env bash
# The stage of the result of an adaptive query says after the query that it has not been materialized.
#
# Spark 4.1.3 and 4.3.0. The final plan is a ResultQueryStageExec above the shuffle stages. Of these, isMaterialized is true once they have
# run; of the result's stage it is false though the query has returned its rows and the plan says isFinalPlan=true. A walk of an executed
# plan that skips stages which have not run, by the method that says so, skips the whole query.
#
# Output seen:
# 4.1.3 final rows 3 ResultQueryStageExec False ShuffleQueryStageExec True
# 4.3.0 final rows 3 ResultQueryStageExec False ShuffleQueryStageExec True
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > job.py << 'EOJ'
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.sql("SELECT id % 3 AS k, count(*) AS n FROM range(0, 100, 1, 4) GROUP BY 1")
rows = frame.collect()


def stages(plan):
    name = plan.getClass().getSimpleName()
    below = plan.children()
    found = [stage for i in range(below.size()) for stage in stages(below.apply(i))]
    return [name, plan.isMaterialized(), *stages(plan.plan())] if name.endswith("QueryStageExec") else found


adaptive = frame._jdf.queryExecution().executedPlan()
state = "final" if "isFinalPlan=true" in adaptive.toString() else "not final"
print(spark.version, state, "rows", len(rows), *stages(adaptive.executedPlan()))
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
[[ "$older" == "4.1.3 final rows 3 ResultQueryStageExec False ShuffleQueryStageExec True" ]]
[[ "$newer" == "4.3.0 final rows 3 ResultQueryStageExec False ShuffleQueryStageExec True" ]]
