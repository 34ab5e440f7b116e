package io.aqeplugin.e2e

import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.scalatest.funsuite.AnyFunSuite

/** Where a condition in Iceberg would leave out too much, the keys of a join do not. */
class IcebergFaultsSuite extends AnyFunSuite with TableFormats {

  private val Broadcast = "spark.sql.autoBroadcastJoinThreshold" -> "10m"

  private def scanned(ran: Ran): Long =
    collectWithSubqueries(ran.plan) { case scan: BatchScanExec => scan.metrics("numOutputRows").value }.sum

  test("ranges that are open at one end leave no partition of a transform out that has rows") {
    val at = "TIMESTAMP'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, CAST(id AS int))"
    table(
      "spans",
      s"SELECT lo, hi, since, until FROM (SELECT 300 AS lo, 310 AS hi, $at AS since FROM (SELECT 300 AS id)), " +
        s"(SELECT $at AS until FROM (SELECT 310 AS id))"
    )
    for ((transform, i) <- Seq("truncate(100, k)", "truncate(100, n)", "hours(at)", "days(at)", "truncate(100, d)").zipWithIndex) {
      made(
        s"CREATE TABLE ice.db.spread$i USING iceberg PARTITIONED BY ($transform) AS " +
          s"SELECT id AS k, CAST(id AS int) AS n, CAST(id AS decimal(18, 0)) AS d, $at AS at FROM range(0, 1000, 1, 10)"
      )
      def query(condition: String): String = s"SELECT count(*), sum(t.k) FROM ice.db.spread$i t JOIN spans s ON $condition"
      val columns = Seq("k", "n", "d", "at")
      def isOwn(column: String) = transform.endsWith(s"$column)")
      for (column <- columns if Extent.TriesAll || isOwn(column) || column == columns(i % columns.size)) withConf(Broadcast) {
        val (low, high) = column match {
          case "at" => ("s.since", "s.until")
          case "d"  => ("CAST(s.lo AS decimal(18, 0))", "CAST(s.hi AS decimal(18, 0))")
          case _    => ("s.lo", "s.hi")
        }
        assert(sameRows(spark.sql(query(s"t.$column <= $high"))).rows.head.startsWith("[311, "), transform)
        assert(sameRows(spark.sql(query(s"t.$column >= $low"))).rows.head.startsWith("[700, "), transform)
        val closed = sameRows(spark.sql(query(s"t.$column >= $low AND t.$column <= $high")))
        assert(closed.rows.head.startsWith("[11, ") && (scanned(closed) < 1000 || column == "d"), s"$transform, $column")
      }
    }
  }

  test("rows at the ends of a type, whose partitions have overflowed, are found by ranges") {
    val types = Seq(
      ("int", "truncate(5, k)", "CAST(-2147483648 AS int)", "CAST(id AS int)", "2147480000L"),
      ("bigint", "truncate(5, k)", "-9223372036854775808L", "id", "9223372036854770000L"),
      ("timestamp", "hours(k)", "timestamp_micros(-9223372036854775808L)", "timestamp_micros(id * 1000000)", "9000000000000L")
    )
    for (((name, transform, least, value, far), i) <- types.zipWithIndex) {
      // Values far beyond the range make it worth a condition.
      made(
        s"CREATE TABLE ice.db.ends$i (k $name, v bigint) USING iceberg PARTITIONED BY ($transform)",
        s"INSERT INTO ice.db.ends$i SELECT $least, -1L UNION ALL SELECT $value, id FROM (SELECT id * 20 AS id FROM range(100) UNION ALL SELECT $far)"
      )
      table(s"ends_keys$i", s"SELECT $value AS hi, $least AS lo FROM (SELECT 100L AS id)")
      withConf(Broadcast) {
        for (condition <- Seq("t.k <= s.hi", "t.k BETWEEN s.lo AND s.hi"))
          assert(
            sameRows(spark.sql(s"SELECT count(*), min(t.v) FROM ice.db.ends$i t JOIN ends_keys$i s ON $condition")).rows == Seq("[7, -1]"),
            name
          )
      }
    }
  }

  test("milliseconds of files that were imported, whose bounds Iceberg takes for microseconds") {
    val at = "TIMESTAMP'2024-01-01 00:00:00.123' + make_interval(0, 0, 0, CAST(id AS int))"
    val path = folder.resolve("millis").toString
    withConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MILLIS", "spark.aqePlugin.mode" -> "off") {
      spark.sql(s"SELECT id AS k, $at AS at FROM range(0, 1000, 1, 10)").write.option("parquet.block.size", "2000").parquet(path)
    }
    made(
      "CREATE TABLE ice.db.imported (k bigint, at timestamp) USING iceberg",
      s"CALL ice.system.add_files(table => 'db.imported', source_table => 'parquet.`$path`')",
      s"INSERT INTO ice.db.imported SELECT id, $at FROM range(1000, 2000, 1, 10)"
    )
    table("moments", s"SELECT $at AS at FROM (VALUES (7L), (1507L)) AS t(id)")
    table("many_moments", s"SELECT $at AS at FROM range(600, 1400)")
    table("moment_spans", "SELECT min(at) AS since, max(at) AS until FROM many_moments")
    val equal = sameRows(spark.sql("SELECT count(*), sum(t.k) FROM ice.db.imported t JOIN moments m ON t.at = m.at"))
    // The other files of either kind are left out.
    assert(equal.rows == Seq("[2, 1514]") && scanned(equal) == 200)
    val many = sameRows(spark.sql("SELECT count(*), sum(t.k) FROM ice.db.imported t JOIN many_moments m ON t.at = m.at"))
    assert(many.rows.head.startsWith("[800, ") && scanned(many) == 800)
    val after = "TIMESTAMP'2024-01-01 00:00:00'"
    val inferred =
      sameRows(spark.sql(s"SELECT count(*), sum(t.k) FROM ice.db.imported t JOIN moments m ON t.at >= m.at AND m.at >= $after"))
    assert(inferred.rows.head.startsWith("[2486, "))
    for (condition <- Seq("t.at >= m.since", "t.at <= m.until", "t.at BETWEEN m.since AND m.until")) withConf(Broadcast) {
      assert(sameRows(spark.sql(s"SELECT count(*), sum(t.k) FROM ice.db.imported t JOIN moment_spans m ON $condition")).rows.nonEmpty)
    }
  }

  test("a row that an equality delete has removed does not come back below a filter") {
    made(
      "CREATE TABLE ice.db.typed USING iceberg TBLPROPERTIES ('format-version' = '2') AS " +
        "SELECT id AS k, IF(id = 3, 'three', string(id)) AS word FROM range(0, 1000, 1, 1)"
    )
    deletedByValue("typed", "k", 3L)
    table("sevens", "SELECT id * 100 + 7 AS k FROM range(10)")
    withConf("spark.sql.ansi.enabled" -> "true") {
      val ran =
        sameRows(spark.sql("SELECT count(*), sum(t.k) FROM ice.db.typed t JOIN sevens d ON t.k = d.k WHERE CAST(t.word AS int) > 5"))
      assert(ran.rows.head.startsWith("[10, ") && scanned(ran) == 999)
    }
  }
}
