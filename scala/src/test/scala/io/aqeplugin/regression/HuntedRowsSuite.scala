package io.aqeplugin.regression

import org.apache.spark.sql.DataFrame
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** Rows that inferred predicates and limits once lost or failed on. */
class HuntedRowsSuite extends AnyFunSuite with PluginSession {

  private def same(query: String): Assertion = {
    sameRows(spark.sql(query))
    succeed
  }

  private def plainly(frame: => DataFrame): Seq[String] = withoutPlugin(frame)

  test("a sum that overflows to null equals a null") {
    table("a", "SELECT * FROM VALUES (2147483647, 1) AS a(a, a2)")
    table("b", "SELECT * FROM VALUES (CAST(NULL AS int), 1), (5, 5) AS b(b, b2)")
    same("SELECT a, b, b2 FROM a JOIN b ON b <=> try_add(a, 1) WHERE a >= 2147483647")
    same("SELECT a, b2 FROM a LEFT JOIN b ON try_add(a, 1) <=> b AND a > 2147483646")
    same("SELECT a, b FROM a JOIN b ON (b <=> try_add(a, 1) AND a >= 2147483647) OR (b = 5 AND a = 5)")
  }

  test("a bound far outside of the calendar is no predicate") {
    table("x", "SELECT date_add(DATE'2020-01-01', CAST(id AS int)) AS d FROM range(3)")
    table("y", "SELECT date_add(DATE'2020-01-01', CAST(id AS int)) AS e FROM range(3)")
    same("SELECT d, e FROM x JOIN y ON date_add(d, 2147483647) > e AND e >= DATE'2000-01-01'")
  }

  test("the first rows of integers that Spark cuts to a narrower column are all found") {
    val path = folder.resolve("cut").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      Seq("range(1, 11)", "range(257, 262)", "range(60, 90)").foreach { rows =>
        spark.sql(s"SELECT CAST(id AS int) AS k FROM $rows").repartition(1).write.mode("append").parquet(path)
      }
    }
    def first: DataFrame = spark.read.schema("k tinyint").parquet(path).orderBy("k").limit(5)
    assert(ran(first).rows == plainly(first))
  }

  test("files that are written anew are read as they are now") {
    val path = folder.resolve("anew").toString
    def write(rows: String): Unit = withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(s"SELECT id AS k FROM $rows").repartitionByRange(6, org.apache.spark.sql.functions.col("k")).write.mode("overwrite").parquet(path)
    }
    write("range(60)")
    def frame: DataFrame = spark.read.parquet(path).limit(15)
    assert(ran(frame).rows.size == 15)
    val planned = frame
    val _ = planned.queryExecution.executedPlan
    assert(planned.queryExecution.executedPlan.toString.contains("ChosenFiles") == false)
    write("range(15)")
    assert(ran(frame).rows.size == 15)
  }

  test("a limit reads no other rows than Spark where one of them could fail the query") {
    val path = folder.resolve("zeros").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      Seq("VALUES (1L), (2L), (3L) AS t(k)", "(SELECT 0L AS k FROM range(500))", "VALUES (5L), (6L) AS t(k)").zipWithIndex.foreach {
        case (rows, i) => spark.sql(s"SELECT k, $i AS i FROM $rows").repartition(1).write.mode("append").parquet(path)
      }
    }
    spark.read.parquet(path).createOrReplaceTempView("zeros")
    val frame = spark.sql("SELECT 10 / k AS v FROM zeros LIMIT 2")
    assert(!frame.queryExecution.executedPlan.toString.contains("CollectLimitFiles"))
    val limits = ran(spark.sql("SELECT k + CAST(1 AS double) AS v FROM zeros LIMIT 2"))
    assert(limits.rows.size == 2)
  }
}
