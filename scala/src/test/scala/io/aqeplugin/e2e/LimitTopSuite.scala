package io.aqeplugin.e2e

import org.apache.spark.sql.DataFrame
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** What is read for `ORDER BY … LIMIT`: rows as Spark's own, files that tasks open, rows that they read. */
class LimitTopSuite extends AnyFunSuite with LimitSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    manyFiles("t")
    manyFiles("parts", partitioned = true)
  }

  private def sql(text: String): DataFrame = spark.sql(text)

  /** Runs a query with a total order, and requires Spark's rows and the given number of files. */
  private def reads(query: String, files: Int, choice: String = "top_files", reason: String = "TOP_ROWS"): Assertion = {
    val plain = plainly(sql(query))
    val ran = limited(sql(query))
    assert(ran.rows == plain.rows)
    assert((ran.choices.distinct, ran.reasons.distinct) == ((Seq(choice), Seq(reason))))
    if (choice == "leave_to_spark") assert(ran.footers <= 8, "the driver gives up after a sample")
    assert(ran.opened == files, ran.plan)
  }

  for (
    (what, query, files) <- Seq(
      ("ascending", "SELECT * FROM t ORDER BY c LIMIT 10", 1),
      ("descending", "SELECT * FROM t ORDER BY c DESC LIMIT 10", 1),
      ("more rows than a file has", "SELECT * FROM t ORDER BY c LIMIT 101", 2),
      ("an offset", "SELECT * FROM t ORDER BY c LIMIT 10 OFFSET 195", 3),
      ("dates with ties", "SELECT * FROM t ORDER BY d, id LIMIT 15", 1),
      ("a tie over two files", "SELECT * FROM t ORDER BY w DESC, id LIMIT 95", 2),
      ("timestamps", "SELECT * FROM t ORDER BY ts DESC, u LIMIT 15", 1),
      ("several keys", "SELECT id FROM t ORDER BY d DESC, u, id LIMIT 25", 1),
      ("nulls last", "SELECT * FROM t ORDER BY n NULLS LAST LIMIT 10", 1),
      ("nulls last, descending", "SELECT * FROM t ORDER BY n DESC NULLS LAST LIMIT 10", 1),
      ("a renamed column", "SELECT k + 0 AS x, k FROM (SELECT c AS k FROM t) ORDER BY k LIMIT 10", 1),
      ("a filter that is proven", "SELECT * FROM t WHERE c >= 500 ORDER BY c LIMIT 10", 1),
      ("a filter that is proven for some files", "SELECT * FROM t WHERE c >= 550 ORDER BY c LIMIT 60", 2),
      ("a partition column", "SELECT * FROM parts ORDER BY p, id LIMIT 10", 5),
      ("inside a query", "SELECT sum(id), count(*) FROM (SELECT * FROM t ORDER BY c DESC LIMIT 30)", 1)
    )
  )
    test(s"only files of the first rows are read: $what")(reads(query, files))

  for (
    (what, query, reason) <- Seq(
      ("a column whose values are everywhere", "SELECT * FROM t ORDER BY u, id LIMIT 10", "RANGES_OVERLAP"),
      ("nulls first, with nulls in every file", "SELECT * FROM t ORDER BY n NULLS FIRST, id LIMIT 10", "RANGES_OVERLAP"),
      ("a filter that is not proven", "SELECT * FROM t WHERE s LIKE '%1' ORDER BY c LIMIT 10", "ROWS_NOT_PROVEN"),
      ("strings", "SELECT * FROM t ORDER BY s LIMIT 10", "SORT_KEY_TYPE"),
      ("an expression", "SELECT * FROM t ORDER BY -c LIMIT 10", "SORT_KEY_TYPE")
    )
  )
    test(s"every file is read, and few footers before that: $what")(reads(query, Files, "leave_to_spark", reason))

  test("an aggregate below the sort is left to Spark") {
    val query = "SELECT u, count(*) AS n FROM t GROUP BY u ORDER BY n DESC, u LIMIT 10"
    val ran = limited(sql(query))
    assert(ran.rows == plainly(sql(query)).rows)
    assert(ran.reasons == Seq("LIMIT_OPERATOR_BELOW"))
  }

  test("row groups behind the first rows are not read") {
    val path = folder.resolve("groups").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.range(0, 4000, 1, 2).selectExpr("id AS k", "'text ' || id AS s").write.option("parquet.block.size", "2000").parquet(path)
    }
    spark.read.parquet(path).createOrReplaceTempView("row_groups")
    for (order <- Seq("k", "k DESC", "k NULLS FIRST")) {
      val query = s"SELECT * FROM row_groups ORDER BY $order LIMIT 10"
      val ran = limited(sql(query))
      assert(ran.rows == plainly(sql(query)).rows)
      assert(ran.choices == Seq("top_files"))
      assert(ran.rowsRead.forall(_ <= 2000))
    }
  }
}
