package io.aqeplugin.regression

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** Rows that inferred predicates and limits once lost or failed on. */
class HuntedRowsSuite extends AnyFunSuite with PluginSession {

  private def written(name: String, mode: String, rows: DataFrame): String = {
    val path = folder.resolve(name).toString
    withConf("spark.aqePlugin.mode" -> "off")(rows.write.mode(mode).parquet(path))
    path
  }

  test("a sum that overflows to null equals a null") {
    table("a", "SELECT * FROM VALUES (2147483647, 1) AS a(a, a2)")
    table("b", "SELECT * FROM VALUES (CAST(NULL AS int), 1), (5, 5) AS b(b, b2)")
    Seq(
      "SELECT a, b, b2 FROM a JOIN b ON b <=> try_add(a, 1) WHERE a >= 2147483647",
      "SELECT a, b2 FROM a LEFT JOIN b ON try_add(a, 1) <=> b AND a > 2147483646",
      "SELECT a, b FROM a JOIN b ON (b <=> try_add(a, 1) AND a >= 2147483647) OR (b = 5 AND a = 5)"
    ).foreach(query => sameRows(spark.sql(query)))
  }

  test("a bound far outside of the calendar is no predicate") {
    table("x", "SELECT date_add(DATE'2020-01-01', CAST(id AS int)) AS d FROM range(3)")
    table("y", "SELECT date_add(DATE'2020-01-01', CAST(id AS int)) AS e FROM range(3)")
    sameRows(spark.sql("SELECT d, e FROM x JOIN y ON date_add(d, 2147483647) > e AND e >= DATE'2000-01-01'"))
  }

  test("the first rows of integers that Spark cuts to a narrower column are all found") {
    Seq("range(1, 11)", "range(257, 262)", "range(60, 90)").foreach { rows =>
      written("cut", "append", spark.sql(s"SELECT CAST(id AS int) AS k FROM $rows").repartition(1))
    }
    sameRows(spark.read.schema("k tinyint").parquet(folder.resolve("cut").toString).orderBy("k").limit(5))
  }

  test("files that are written anew are read as they are now") {
    def write(rows: String): String =
      written("anew", "overwrite", spark.sql(s"SELECT id AS k FROM $rows").repartitionByRange(6, col("k")))
    def first: DataFrame = spark.read.parquet(folder.resolve("anew").toString).limit(15)
    write("range(60)")
    assert(ran(first).rows.size == 15)
    assert(!first.queryExecution.executedPlan.toString.contains("ChosenFiles"), "files are chosen when the query runs")
    write("range(15)")
    assert(ran(first).rows.size == 15)
  }

  test("a limit reads no other rows than Spark where one of them could fail the query") {
    Seq("VALUES (1L), (2L), (3L) AS t(k)", "(SELECT 0L AS k FROM range(500))", "VALUES (5L), (6L) AS t(k)").foreach { rows =>
      written("zeros", "append", spark.sql(s"SELECT k FROM $rows").repartition(1))
    }
    spark.read.parquet(folder.resolve("zeros").toString).createOrReplaceTempView("zeros")
    def planOf(value: String): String = {
      val frame = spark.sql(s"SELECT $value AS v FROM zeros WHERE k > 0 LIMIT 2")
      assert(frame.collect().length == 2)
      frame.queryExecution.executedPlan.toString
    }
    assert(planOf("k + CAST(1 AS double)").contains("CollectLimitFiles"))
    assert(!planOf("k / 10 + 10 / k").contains("CollectLimitFiles"))
  }
}
