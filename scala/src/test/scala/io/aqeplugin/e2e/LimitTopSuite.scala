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
      ("a column whose values are everywhere", "SELECT * FROM t ORDER BY u, id LIMIT 100", "RANGES_OVERLAP"),
      ("nulls first, with nulls in every file", "SELECT * FROM t ORDER BY n NULLS FIRST, id LIMIT 10", "RANGES_OVERLAP"),
      ("strings", "SELECT * FROM t ORDER BY s LIMIT 10", "SORT_KEY_TYPE"),
      ("an expression", "SELECT * FROM t ORDER BY -c LIMIT 10", "SORT_KEY_TYPE")
    )
  )
    test(s"every file is read, and few footers before that: $what")(reads(query, Files, "leave_to_spark", reason))

  for (
    (what, query, files) <- Seq(
      ("a filter that is not proven", "SELECT * FROM t WHERE s LIKE '%1' ORDER BY c LIMIT 10", 2),
      ("the same, descending", "SELECT * FROM t WHERE s LIKE '%1' ORDER BY c DESC LIMIT 10", 2),
      ("an offset", "SELECT * FROM t WHERE s LIKE '%1' ORDER BY c LIMIT 5 OFFSET 12", 2),
      ("more rows than two files have", "SELECT id FROM t WHERE s LIKE '%1' ORDER BY c LIMIT 25", 4),
      ("nulls last", "SELECT * FROM t WHERE s LIKE '%1' ORDER BY n NULLS LAST LIMIT 10", 2),
      ("nulls last, descending", "SELECT * FROM t WHERE s LIKE '%1' ORDER BY n DESC NULLS LAST LIMIT 10", 2),
      ("ties and several keys", "SELECT id, w FROM t WHERE s LIKE '%1' ORDER BY w DESC, u, id LIMIT 12", 2),
      ("a filter that no row passes", "SELECT * FROM t WHERE s LIKE '%x' ORDER BY c LIMIT 10", Files),
      ("too few rows", "SELECT * FROM t WHERE s LIKE 'name 1_' ORDER BY c LIMIT 11", Files)
    )
  )
    test(s"files are read in the order of their values, until the rows found rule out the others: $what")(reads(query, files))

  for (function <- Seq("rand(42)", "length(uuid())", "size(shuffle(array(1, 2, 3)))", "monotonically_increasing_id()"))
    test(s"what is computed of the first rows alone: $function") {
      reads(s"SELECT c, $function AS r FROM (SELECT * FROM t WHERE s LIKE '%1' ORDER BY c) LIMIT 10", 2)
    }

  test("the first row of a column whose values are everywhere is found in some of the files") {
    // Of two rows, one sample of footers in seventy says that most files are to be read; which files it has depends on their names.
    val query = "SELECT * FROM t ORDER BY u, id LIMIT 1"
    val ran = limited(sql(query))
    assert(ran.rows == plainly(sql(query)).rows)
    assert((ran.choices, ran.reasons) == ((Seq("top_files"), Seq("TOP_ROWS"))))
    assert(ran.opened < Files)
  }

  test("files whose footers are not read are read last, and not left out") {
    withConf("spark.aqePlugin.limit.maxFooters" -> "8") {
      for (order <- Seq("c", "c DESC")) {
        val query = s"SELECT * FROM t WHERE s LIKE '%1' ORDER BY $order LIMIT 10"
        val ran = limited(sql(query))
        assert(ran.rows == plainly(sql(query)).rows && ran.footers == 8)
        assert(ran.opened >= 12)
      }
    }
  }

  test("the scan of the plan shows what all waves have read") {
    val ran = limited(sql("SELECT * FROM t WHERE s LIKE '%1' ORDER BY c LIMIT 25"))
    val read = scans(ran).map(scan => (scan.metrics("numFiles").value, scan.metrics("numOutputRows").value))
    assert(read == Seq((4L, 4L * FileRows)))
    assert(ran.limits.map(_.outcome.path("splits").asInt) == Seq(4))
  }

  test("a sorted limit that is read as an RDD, or inside a query, has Spark's rows") {
    val query = "SELECT id FROM t WHERE s LIKE '%1' ORDER BY c LIMIT 15"
    val expected = plainly(sql(query)).rows
    assert(sql(query).rdd.collect().toSeq == expected)
    assert(sql(s"SELECT sum(id) FROM ($query)").head().getLong(0) == expected.map(_.getLong(0)).sum)
    assert(sql(s"SELECT id FROM t WHERE c <= (SELECT max(id) FROM ($query))").count() == expected.map(_.getLong(0)).max + 1)
  }

  test("random sorted limits have Spark's rows") {
    val random = new scala.util.Random(20)
    def one[A](choices: A*): A = choices(random.nextInt(choices.size))
    for (_ <- 1 to Extent.cases(sample = 20, whole = 300)) {
      val filter =
        one("true", "s LIKE '%1'", "u % 7 = 3", "n IS NULL", "n IS NOT NULL", "c > 700", "c < 350 OR u > 900", "hash(s) % 50 = 0")
      val key = one("c", "u", "n", "d", "ts", "w", "p", "k")
      val order = s"$key ${one("ASC", "DESC")} NULLS ${one("FIRST", "LAST")}, ${one("id", "u DESC, id", "s")}"
      val source = s"(SELECT *, CASE WHEN id % 3 = 0 THEN NULL ELSE u END AS x, n AS k FROM ${one("t", "parts")})"
      val query = s"SELECT id, x FROM $source WHERE $filter ORDER BY $order LIMIT ${one(1, 2, 10, 90, 1500)} OFFSET ${one(0, 0, 7)}"
      val plain = withConf("spark.aqePlugin.mode" -> "off")(sql(query).collect())
      assert(sql(query).collect().toSeq == plain.toSeq, query)
    }
  }

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

  test("row groups behind the rows found so far are not read") {
    val path = folder.resolve("later_groups").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      val rows = spark.range(0, 16000, 1, 8).selectExpr("id % 2000 * 8 + id div 2000 * 1000 AS k", "'text ' || id AS s")
      rows.write.option("parquet.block.size", "2000").parquet(path)
    }
    spark.read.parquet(path).createOrReplaceTempView("later_groups")
    val query = "SELECT * FROM later_groups WHERE s LIKE '%1' ORDER BY k, s LIMIT 40"
    val ran = limited(sql(query))
    assert(ran.rows == plainly(sql(query)).rows)
    assert(ran.choices == Seq("top_files"))
    val filesRead = ran.limits.map(_.outcome.path("splits").asLong).sum
    assert(filesRead > 2 && ran.rowsRead.sum < filesRead * 2000 - 1000, ran.rowsRead)
  }
}
