#!/usr/bin/env bash
# A class that a Spark conf names and that comes by `spark-submit --jars` is found by queries of the main thread, and fails every query of
# a fork-join pool (also a parallel stream, a Scala parallel collection).
#
# Spark 4.1.3. AQE loads spark.sql.adaptive.customCostEvaluatorClass anew for each query, by the context class loader of the thread that
# plans it. `spark-submit` puts jars of --jars into a loader of its own, which it sets on the main thread. Threads inherit it, but since
# Java 9 (JDK-8172726) those of the common pool and of a `new ForkJoinPool(n)` have the system class loader instead. An expert expects a
# class that the first query has loaded to be loadable in the same application; and none of the conf's documentation says that the jar
# must be on the driver's class path (spark.driver.extraClassPath), where every thread finds it.
#
# Output seen: main: 100 / pool: java.lang.ClassNotFoundException: CountingCost
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyspark==4.1.3
export SPARK_HOME="$(venv/bin/python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')"

mkdir extension job
cat > CountingCost.java << 'EOJ'
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.*;

public class CountingCost implements CostEvaluator {
  @Override
  public Cost evaluateCost(SparkPlan plan) {
    return new SimpleCost(1);
  }
}
EOJ
cat > Job.java << 'EOJ'
import java.util.concurrent.*;
import org.apache.spark.sql.SparkSession;

public class Job {
  public static void main(String[] arguments) throws Exception {
    SparkSession spark = SparkSession.builder().getOrCreate();
    Callable<Long> query = () -> spark.range(1000).selectExpr("id % 100 AS k").groupBy("k").count().count();
    System.out.println("main: " + query.call());
    try {
      System.out.println("pool: " + new ForkJoinPool(2).submit(query).get());
    } catch (ExecutionException error) {
      Throwable cause = error;
      while (cause.getCause() != null) cause = cause.getCause();
      System.out.println("pool: " + cause);
    }
    spark.stop();
  }
}
EOJ
javac -cp "$SPARK_HOME/jars/*" -d extension CountingCost.java
javac -cp "$SPARK_HOME/jars/*" -d job Job.java
jar cf extension.jar -C extension .
jar cf job.jar -C job .

run() {
  "$SPARK_HOME/bin/spark-submit" --master 'local[1]' "$@" --conf spark.ui.enabled=false \
    --conf spark.sql.adaptive.customCostEvaluatorClass=CountingCost --class Job job.jar 2> errors.txt
}
by_jars="$(run --jars extension.jar)"
by_class_path="$(run --driver-class-path extension.jar)"
printf 'by --jars:\n%s\nby --driver-class-path:\n%s\n' "$by_jars" "$by_class_path"
[[ "$by_jars" == $'main: 100\npool: java.lang.ClassNotFoundException: CountingCost' ]]
[[ "$by_class_path" == $'main: 100\npool: 100' ]]
