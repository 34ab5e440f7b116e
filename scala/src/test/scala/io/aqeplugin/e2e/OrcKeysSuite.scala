package io.aqeplugin.e2e

import java.util.TimeZone

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.hive.ql.exec.vector.{BytesColumnVector, LongColumnVector, TimestampColumnVector}
import org.apache.orc.{OrcFile, TypeDescription}
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
        "CAST(id AS string) AS text, CAST(id AS decimal(12, 2)) AS price, timestamp_seconds(id * 86400) AS ts, CAST(id AS decimal(30, 2)) AS wide, timestamp_ntz'2020-01-01' AS local, " +
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

  test("texts, decimals and times leave out row groups") {
    table("typed", "SELECT CAST(k AS string) AS text, CAST(k AS decimal(12, 2)) AS price, timestamp_seconds(k * 86400) AS ts FROM three")
    for (column <- Seq("text", "price", "ts"); condition = s"s.$column = d.$column") {
      val ran = joined("facts", condition, "typed")
      assert(scanned(ran) <= 5000 && ran.rows.head.startsWith("[3, "), condition)
    }
    withConf("spark.sql.orc.filterPushdown" -> "false")(assert(scanned(joined("facts", "s.text = d.text", "typed")) == Rows))
  }

  test("columns of other types, and readers that push nothing, read all rows") {
    for (condition <- Seq("s.wide = CAST(d.k AS decimal(30, 2))", "s.local = CAST(timestamp_seconds(d.k) AS timestamp_ntz)"))
      assert(scanned(joined("facts", condition, "three")) == Rows, condition)
    withConf("spark.sql.orc.filterPushdown" -> "false")(assert(scanned(joined("facts", "s.id = d.k", "three")) == Rows))
  }

  test("texts that ORC cuts, cannot decode or orders otherwise") {
    // The bounds of a row group of a thousand texts each.
    val texts = Seq(
      "concat(repeat('x', 1100), id)",
      "concat(repeat('x', 1023), 'ÿ', repeat('y', id % 7))",
      "concat(IF(id % 1000 = 0, CAST(X'80' AS string), 'é'), id DIV 1000)",
      "concat(IF(id % 1000 = 0, '\uffee', '\ud83d\ude00'), IF(id % 1000 = 500, '', CAST(id DIV 1000 AS string)))",
      "concat(IF(id % 1000 = 0, '\uffee', 'a'), id DIV 1000)",
      "concat('a', CAST(X'FF' AS string), id DIV 1000)",
      "IF(id % 1000 < 500, NULL, concat('a', lpad(id, 5, '0')))",
      "IF(id % 3 = 0, '', CAST(id AS string))"
    )
    for (text <- texts) {
      table("texts", s"SELECT id, 1L AS x, $text AS w FROM range(0, $Rows, 1, 1)", "orc")
      val words = "collect_set(w)[0], min(w), max(w), concat('a', max(w)), 'a19999', 'é7', 'a7', '\uffee7', '\uff5a', '', repeat('x', 1024)"
      table("words", s"SELECT explode(array($words)) AS k FROM texts")
      assert(joined("texts", "s.w = d.k", "words").rows.nonEmpty, text)
    }
    // Of ASCII keys, those of the other columns of the row groups are not read.
    table(
      "texts",
      s"SELECT id, 1L AS x, concat('a', lpad(id, 5, '0'), IF(id % 1000 = 999, CAST(X'FF' AS string), '')) AS w FROM range(0, $Rows, 1, 1)",
      "orc"
    )
    table("words", "SELECT concat('a', lpad(id * 9000 + 7, 5, '0')) AS k FROM range(3)")
    val found = joined("texts", "s.w = d.k", "words")
    assert(scanned(found) <= 3000 && found.rows.head.startsWith("[3, "))
    table("words", "SELECT 'é7' AS k UNION ALL SELECT 'a00007'")
    val beyond = joined("texts", "s.w = d.k", "words")
    assert(scanned(beyond) == Rows && outcomes(beyond).map(_.get("filesKept").get("code").asText) == Seq("TEXT_ORDER"))
    assert(outcomes(found).forall(_.get("filesKept").isNull))
  }

  test("times before 1900, of which calendars differ, leave out nothing") {
    table("old", s"SELECT id, 1L AS x, timestamp_seconds(id * 86400 - 4000000000) AS ts FROM range(0, $Rows, 1, 1)", "orc")
    table("moments", "SELECT ts AS k FROM old WHERE id IN (5, 7005, 14005)")
    val found = joined("old", "s.ts = d.k", "moments")
    assert(scanned(found) == Rows && found.rows.head.startsWith("[3, "))
  }

  test("times in hours that come twice or never, by the clocks of other zones") {
    val zone = TimeZone.getDefault
    val zones = Seq("America/New_York", "Pacific/Apia", "UTC", "Australia/Lord_Howe").map(TimeZone.getTimeZone)
    def readers(writer: Int) = if (Extent.TriesAll) zones else Seq(zones(writer), zones((writer + 1) % zones.size))
    try for ((writes, i) <- zones.zipWithIndex; reads <- readers(i)) {
        TimeZone.setDefault(writes)
        // Minutes around the ends of summer times, and the day that Samoa left out; a row group has a thousand.
        for (day <- Seq("2011-11-06", "2011-12-30", "1969-12-31", "1910-01-01")) {
          table(
            s"times_$i",
            s"SELECT id, 1L AS x, TIMESTAMP'$day 00:00:00' + make_dt_interval(0, 0, CAST(id AS int), 0.000001) AS ts FROM range(-2000, 4000, 1, 1)",
            "orc"
          )
          TimeZone.setDefault(reads)
          table("moments", s"SELECT ts AS k FROM times_$i WHERE id % 500 BETWEEN 0 AND 2 AND id < 2000")
          assert(joined(s"times_$i", "s.ts = d.k", "moments").rows.head > "[16", (writes, reads, day))
          TimeZone.setDefault(writes)
        }
      }
    finally TimeZone.setDefault(zone)
  }

  test("decimals by ranges, whatever zeros they end with, and of another scale or width in the file") {
    val path = folder.resolve("decimals").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(s"SELECT id, 1L AS x, CAST(id / 4 AS decimal(12, 2)) AS d FROM range(0, $Rows, 1, 1)").write
        .option("orc.bloom.filter.columns", "d").orc(path)
      for (other <- Seq("decimal(12, 1)", "decimal(18, 3)", "decimal(10, 2)"))
        spark.sql(s"SELECT id, 1L AS x, CAST(id / 4 AS $other) AS d FROM range(0, $Rows, 1, 1)").write.mode("append").orc(path)
    }
    spark.read.schema("id BIGINT, x BIGINT, d DECIMAL(12, 2)").orc(path).createOrReplaceTempView("decimals")
    table("prices", "SELECT CAST(id * 500 + 2.5 AS decimal(12, 2)) AS k FROM range(3)")
    val ran = joined("decimals", "s.d = d.k", "prices")
    assert(ran.rows.head.startsWith("[12, ") && scanned(ran) <= 3 * Rows + 5000)
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

  test("files of old writers, whose statistics of texts and times say something else, and files without an index") {
    for ((version, isNew) <- Seq(OrcFile.WriterVersion.HIVE_8732 -> false, OrcFile.WriterVersion.ORC_135 -> true)) {
      val path = folder.resolve(s"written-by-$version").toString
      write(path, version)
      spark.read.orc(path).createOrReplaceTempView("written")
      table("typed", "SELECT k AS id, CAST(k AS string) AS text, timestamp_seconds(k * 86400) AS ts FROM three")
      for (column <- Seq("id", "text", "ts")) {
        val ran = joined("written", s"s.$column = d.$column", "typed")
        assert(ran.rows.head.startsWith("[3, ") && scanned(ran) <= (if (isNew || column == "id") 5000 else Rows), (version, column))
        if (!isNew && column != "id") assert(scanned(ran) == Rows, column)
      }
    }
    val path = folder.resolve("unindexed").toString
    withConf("spark.aqePlugin.mode" -> "off")(spark.table("facts").write.option("orc.create.index", "false").orc(path))
    spark.read.orc(path).createOrReplaceTempView("unindexed")
    table("typed", "SELECT k AS id, CAST(k AS string) AS text, timestamp_seconds(k * 86400) AS ts FROM three")
    for (column <- Seq("id", "text", "ts")) assert(joined("unindexed", s"s.$column = d.$column", "typed").rows.head.startsWith("[3, "))
  }

  private def write(path: String, version: OrcFile.WriterVersion): Unit = {
    val conf = new Configuration(spark.sparkContext.hadoopConfiguration)
    val schema = TypeDescription.fromString("struct<id:bigint,x:bigint,text:string,ts:timestamp>")
    val options = OrcFile.writerOptions(conf).setSchema(schema).rowIndexStride(1000)
    val versioned = options.getClass.getDeclaredMethod("writerVersion", classOf[OrcFile.WriterVersion])
    versioned.setAccessible(true)
    val _ = versioned.invoke(options, version)
    val writer = OrcFile.createWriter(new Path(path, "part.orc"), options)
    val batch = schema.createRowBatch()
    (0 until Rows).foreach { id =>
      val row = batch.size
      batch.size += 1
      batch.cols.toSeq match {
        case Seq(ids: LongColumnVector, xs: LongColumnVector, texts: BytesColumnVector, times: TimestampColumnVector) =>
          ids.vector(row) = id.toLong
          xs.vector(row) = 1L
          texts.setVal(row, id.toString.getBytes("UTF-8"))
          times.set(row, new java.sql.Timestamp(id * 86400000L))
        case other => fail(s"other columns: $other")
      }
      if (batch.size == batch.getMaxSize) {
        writer.addRowBatch(batch)
        batch.reset()
      }
    }
    writer.addRowBatch(batch)
    writer.close()
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
