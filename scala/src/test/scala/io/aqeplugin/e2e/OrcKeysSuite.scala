package io.aqeplugin.e2e

import org.apache.spark.sql.execution.FileSourceScanExec
import org.scalatest.funsuite.AnyFunSuite

/** Keys of a finished build side leave out stripes and row groups of ORC files whose columns are those of the table. */
class OrcKeysSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.hadoop.orc.row.index.stride" -> "1000")

  private val Rows = 20000

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "facts",
      "SELECT id, CAST(id AS int) AS narrow, nullif(id, id DIV 7 * 7) AS sparse, DATE'2020-01-01' + CAST(id AS int) AS at, " +
        "CAST(id AS string) AS text, CAST(id AS decimal(12, 2)) AS price, timestamp_seconds(id) AS ts, timestamp_ntz'2020-01-01' AS local, " +
        s"CAST(rand(1) * 1000000000 AS bigint) AS x FROM range(0, $Rows, 1, 1)",
      "orc"
    )
    // Two hundred keys, a hundred at each end; three.
    table("ends", s"SELECT IF(id < 100, id, id + ${Rows - 200}) AS k FROM range(200)")
    table("three", "SELECT id * 9000 AS k FROM range(3)")
  }

  private def joined(facts: String, condition: String, keys: String): Ran =
    sameRows(spark.sql(s"SELECT count(*), sum(s.x), min(s.id), max(s.id) FROM $facts s RIGHT JOIN $keys d ON $condition"))

  private def scanned(ran: Ran): Long = collectWithSubqueries(ran.plan) {
    case scan: FileSourceScanExec if scan.relation.fileFormat.toString == "ORC" => scan.metrics("numOutputRows").value
  }.sum

  test("keys that are listed, and ranges of more, skip row groups of integers and dates") {
    // A row group has 1,000 rows.
    assert(scanned(joined("facts", "s.id = d.k", "three")) <= 3000)
    for (keys <- Seq("three", "ends"); column <- Seq("id", "narrow", "sparse"))
      assert(scanned(joined("facts", s"s.$column = d.k", keys)) <= 3000, (column, keys))
    table("dates", "SELECT DATE'2020-01-01' + CAST(k AS int) AS k FROM ends")
    assert(scanned(joined("facts", "s.at = d.k", "dates")) <= 3000)
    for (vectorized <- Seq("true", "false"))
      withConf("spark.sql.orc.enableVectorizedReader" -> vectorized) {
        assert(scanned(joined("facts", "s.id = d.k AND s.narrow = d.k", "three")) <= 3000, vectorized)
      }
  }

  test("many ranges skip the row groups in all gaps between them") {
    // Two hundred keys, ten in every tenth row group.
    table("clusters", "SELECT id DIV 10 * 1000 + id % 10 AS k FROM range(200) WHERE id DIV 10 % 2 = 0")
    for (column <- Seq("id", "narrow")) assert(scanned(joined("facts", s"s.$column = d.k", "clusters")) <= 11000, column)
    table("far", "SELECT IF(id < 100, id, 5000000000 + id) AS k FROM range(200)")
    assert(scanned(joined("facts", "s.narrow = d.k", "far")) <= 1000)
  }

  test("keys of one stripe leave out others that hold them in their range, however many they are") {
    val path = folder.resolve("spread").toString
    withConf("spark.aqePlugin.mode" -> "off")(
      spark.sql(
        s"SELECT id % 1000 * 20 + id DIV 1000 AS k, id, CAST(rand(1) * 1000000000 AS bigint) AS x FROM range(0, $Rows, 1, 1)"
      ).write
        .option("orc.bloom.filter.columns", "k").option("orc.bloom.filter.fpp", "0.0001").orc(path)
    )
    spark.read.orc(path).createOrReplaceTempView("spread")
    for (count <- Seq(50, 51, 500)) {
      table("keys", s"SELECT k FROM spread WHERE id BETWEEN 3000 AND 3999 ORDER BY hash(k) LIMIT $count")
      assert(scanned(joined("spread", "s.k = d.k", "keys")) <= Rows / 5, s"$count keys")
    }
  }

  test("columns of other types, and readers that push nothing, read all rows") {
    for (condition <- Seq("s.text = CAST(d.k AS string)", "s.price = d.k", "s.ts = timestamp_seconds(d.k)"))
      assert(scanned(joined("facts", condition, "three")) == Rows, condition)
    withConf("spark.sql.orc.filterPushdown" -> "false")(assert(scanned(joined("facts", "s.id = d.k", "three")) == Rows))
  }

  test("a condition of the author's is pushed beside the keys") {
    val query = "SELECT count(*), sum(s.x) FROM facts s JOIN ends d ON s.id = d.k WHERE s.narrow >= 15000"
    assert(scanned(sameRows(spark.sql(query))) <= 1000)
  }

  test("scans of one table with keys and without are not taken for each other") {
    val ran = sameRows(spark.sql(
      "SELECT (SELECT count(s.x) FROM facts s JOIN three d ON s.id = d.k), (SELECT count(s.x) FROM facts s), count(s.id) FROM facts s JOIN ends d ON s.id = d.k"
    ))
    assert(ran.rows == Seq(s"[3, $Rows, 200]"))
  }

  test("files whose columns are missing, of another type, in another place or of nearly the same name") {
    val x = "CAST(rand(1) * 1000000000 AS bigint) AS x"
    val files = Seq(
      s"SELECT id, id AS late, $x",
      s"SELECT id, CAST(id AS int) AS late, $x",
      s"SELECT CAST(id AS smallint) AS late, id, $x",
      s"SELECT id, CAST(id AS string) AS late, $x",
      s"SELECT id, CAST(id AS double) AS late, $x",
      s"SELECT id, $x",
      s"SELECT id, id AS LATE, $x"
    ).map(columns => s"$columns FROM range(0, 2000, 1, 1)")
    for ((columns, i) <- (files :+ files.head).zipWithIndex) {
      val path = folder.resolve(s"evolved-$i").toString
      withConf("spark.aqePlugin.mode" -> "off") {
        spark.sql(files.head).write.orc(path)
        spark.sql(columns).write.mode("append").orc(path)
      }
      spark.read.schema("id BIGINT, late BIGINT, x BIGINT").orc(path).createOrReplaceTempView("evolved")
      for (far <- Seq(3000000000L, 1500L, -3000000000L)) {
        table("lates", s"SELECT IF(id < 10, id, $far + id) AS k FROM range(20)")
        assert(joined("evolved", "s.late = d.k", "lates").rows.nonEmpty)
      }
    }
  }

  test("files with values that the table's type has not") {
    val path = folder.resolve("wider").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("SELECT id, id + 4294967296 AS late, 1L AS x FROM range(0, 2000, 1, 1)").write.orc(path)
      spark.sql("SELECT id, CAST(id AS int) AS late, 1L AS x FROM range(0, 2000, 1, 1)").write.mode("append").orc(path)
    }
    table("lates", "SELECT CAST(id AS int) AS k FROM range(20)")
    spark.read.schema("id BIGINT, late INT, x BIGINT").orc(path).createOrReplaceTempView("wider")
    for (vectorized <- Seq("true", "false"))
      withConf("spark.sql.orc.enableVectorizedReader" -> vectorized) {
        assert(joined("wider", "s.late = d.k", "lates").rows.nonEmpty, vectorized)
      }
  }

  test("columns that go by their places are not compared by the names in the file") {
    val path = folder.resolve("renamed").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(s"SELECT id AS a, $Rows - id AS b, 1L AS x FROM range($Rows)").coalesce(1).write.orc(path)
      spark.sql(s"SELECT id AS _col0, $Rows - id AS _col1, 1L AS _col2 FROM range($Rows)").coalesce(1).write.orc(s"$path-2")
    }
    spark.read.schema("b BIGINT, a BIGINT, x BIGINT").option("orc.force.positional.evolution", "true").orc(path)
      .selectExpr("a AS id", "b", "x").createOrReplaceTempView("renamed")
    table("few", "SELECT id AS k FROM range(5)")
    assert(joined("renamed", "s.b = d.k", "few").rows.nonEmpty)
    spark.read.schema("a BIGINT, b BIGINT, x BIGINT").orc(s"$path-2").selectExpr("a AS id", "b", "x").createOrReplaceTempView("numbered")
    assert(joined("numbered", "s.b = d.k", "few").rows.nonEmpty)
    spark.read.schema("_col1 BIGINT, _col0 BIGINT, _col2 BIGINT").orc(s"$path-2").selectExpr("_col0 AS id", "_col1", "_col2 AS x")
      .createOrReplaceTempView("crossed")
    assert(joined("crossed", "s._col1 = d.k", "few").rows.head.startsWith("[5, 5, "))
  }
}
