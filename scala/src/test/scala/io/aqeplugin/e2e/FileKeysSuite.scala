package io.aqeplugin.e2e

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{BinaryComparison, DynamicPruning, GreaterThanOrEqual, InSet}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.types.DataType
import org.scalatest.funsuite.AnyFunSuite

/** Keys of a finished build side leave out partitions of files, and row groups and pages of Parquet files. */
class FileKeysSuite extends AnyFunSuite with ReadMeter {

  override protected def applicationConf: Map[String, String] = super.applicationConf ++ Map(
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.hadoop.parquet.block.size" -> "131072",
    "spark.hadoop.parquet.page.size" -> "2048",
    "spark.hadoop.parquet.page.size.row.check.max" -> "1000",
    // Its reads are made by other threads, and no task counts their bytes.
    "spark.hadoop.parquet.hadoop.vectored.io.enabled" -> "false"
  )

  private val Rows = 40000

  /** A column that no query reads. With it, a table has the 4 MiB from which on its footers are read. */
  private val Bulk = "sha2(CAST(id AS string), 512) AS bulk"

  private val Facts =
    "SELECT id, CAST(id AS int) AS narrow, nullif(id, id DIV 7 * 7) AS sparse, DATE'2020-01-01' + CAST(id AS int) AS at, " +
      s"named_struct('k', id) AS inner, CAST(rand(1) * 1000000000 AS bigint) AS x FROM range(0, $Rows, 1, 1)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", Facts)
    // Two hundred keys, a hundred at each end; twenty, ten at each end.
    table("ends", s"SELECT IF(id < 100, id, id + ${Rows - 200}) AS k FROM range(200)")
    table("few", s"SELECT IF(id < 10, id, id + ${Rows - 20}) AS k FROM range(20)")
  }

  private def scans(plan: SparkPlan, name: String): Seq[FileSourceScanExec] = collectWithSubqueries(plan) {
    case scan: FileSourceScanExec if scan.relation.location.rootPaths.exists(_.toString.contains(name)) => scan
  }

  private def scanned(ran: Ran, name: String): Long = scans(ran.plan, name).map(_.metrics("numOutputRows").value).sum
  private def partitions(ran: Ran, name: String): Long = scans(ran.plan, name).map(_.metrics("numPartitions").value).sum

  private def joined(facts: String, condition: String, keys: String): Ran =
    sameRows(spark.sql(s"SELECT count(*), sum(s.x), min(s.id), max(s.id) FROM $facts s RIGHT JOIN $keys d ON $condition"))

  test("more keys than are listed skip the row groups in the gap between them") {
    val query = "SELECT count(*), sum(s.x) FROM facts s RIGHT JOIN ends d ON s.id = d.k"
    val (expected, all) = reading(withoutPlugin(spark.sql(query)))
    val (ran, some) = reading(withPlugin(spark.sql(query)))
    assert(ran.rows == expected)
    assert(scanned(ran, "facts") < Rows / 20, ran.plan)
    assert(all.records - some.records > Rows * 0.95 && some.bytes < all.bytes * 0.5, s"$some of $all")
  }

  test("a list that Parquet takes for one range skips the gap as well") {
    assert(scanned(joined("facts", "s.id = d.k", "few"), "facts") < Rows / 20)
  }

  /** Rows in sixteen parts of two thousand, of which each has keys of the whole range. */
  private def spread(name: String, key: String): Unit = {
    val path = folder.resolve(name).toString
    withConf("spark.aqePlugin.mode" -> "off")(
      spark.sql(s"SELECT $key AS k, id, CAST(rand(1) * 1000000000 AS bigint) AS x, $Bulk FROM range(0, 32000, 1, 1)").write
        .option("parquet.bloom.filter.enabled#k", "true").option("parquet.bloom.filter.expected.ndv#k", "10000").parquet(path)
    )
    spark.read.parquet(path).createOrReplaceTempView(name)
  }

  test("keys of one row group leave out others that hold them in their range, however many they are") {
    // One value in a row, which Bloom filters have; each in four rows, which dictionaries have; the first as text.
    val value = "id % 2000 * 16 + id DIV 2000"
    val keys = Map("by_bloom" -> value, "by_dictionary" -> "id % 500 * 64 + id DIV 2000", "by_string" -> s"CAST($value AS string)")
    for ((name, key) <- keys) {
      spread(name, key)
      for (count <- Seq(50, 51, 500)) {
        table("keys", s"SELECT k FROM $name WHERE id BETWEEN 6000 AND 7999 GROUP BY k ORDER BY hash(k) LIMIT $count")
        val ran = sameRows(spark.sql(s"SELECT count(*), sum(s.x), min(s.id) FROM $name s RIGHT JOIN keys d ON s.k = d.k"))
        assert(scanned(ran, name) <= 8000, s"$name, $count keys")
      }
    }
  }

  /** Ten texts at each end of a table in their order, and so many times more. */
  private def names(name: String, times: Int): Unit =
    table(name, s"SELECT lpad(CAST(IF(id < 10 * $times, id, id + $Rows - 20 * $times) AS string), 9, '0') AS k FROM range(20 * $times)")

  test("texts skip the row groups that have none of them") {
    table(
      "named",
      s"SELECT id, lpad(CAST(id AS string), 9, '0') AS name, CAST(rand(1) * 1000000000 AS bigint) AS x FROM range(0, $Rows, 1, 1)"
    )
    table("three", "SELECT lpad(CAST(id * 18000 AS string), 9, '0') AS k FROM range(3)")
    names("twenty", 1)
    val (expected, all) = reading(withoutPlugin(spark.sql("SELECT count(*), sum(s.x) FROM named s RIGHT JOIN twenty d ON s.name = d.k")))
    val (ran, some) = reading(withPlugin(spark.sql("SELECT count(*), sum(s.x) FROM named s RIGHT JOIN twenty d ON s.name = d.k")))
    assert(ran.rows == expected && some.bytes < all.bytes * 0.5, s"$some of $all")
    for (
      keys <- Seq("three", "twenty"); codegen <- Seq("true", "false"); dimension <- Seq(keys, s"(SELECT * FROM $keys WHERE length(k) > 1)")
    )
      withConf("spark.sql.codegen.wholeStage" -> codegen) {
        assert(scanned(joined("named", "s.name = d.k", dimension), "named") < Rows / 10, s"$dimension $codegen")
      }
  }

  test("more texts than are listed skip the row groups that have none of them, where footers tell that there are some") {
    val name = "lpad(CAST(id AS string), 9, '0')"
    def rows(order: String) =
      s"SELECT id, $name AS name, CAST(rand(1) * 1000000000 AS bigint) AS x, $Bulk FROM range(0, $Rows, 1, 1) $order"
    table("in_order", rows(""))
    table("shuffled", rows("ORDER BY rand(4)"))
    names("many_names", 10)
    for ((table, some) <- Seq("in_order" -> Rows / 10, "shuffled" -> Rows)) {
      val ran = joined(table, "s.name = d.k", "many_names")
      val read = scanned(ran, table)
      assert(if (some == Rows) read == some else read < some, s"$table: $read")
      val pushed = scans(ran.plan, table).flatMap(_.dataFilters).exists(_.exists(_.isInstanceOf[GreaterThanOrEqual]))
      assert(pushed == (table == "in_order"), table)
    }
    // One of several columns, of which the other says nothing.
    names("in_pairs", 1)
    val pairs = joined("in_order", "s.name = d.k AND s.id % 2 = CAST(d.k AS bigint) % 2", "in_pairs")
    assert(scanned(pairs, "in_order") < Rows / 10, pairs.plan)
  }

  private def priced(name: String, precision: Int): String =
    s"SELECT id, CAST($name AS decimal($precision, 2)) AS price, CAST(rand(1) * 1000000000 AS bigint) AS x, $Bulk FROM range(0, $Rows, 1, 1)"

  test("times of the day skip the row groups that have none of them") {
    assume(Try(DataType.fromDDL("k TIME")).isSuccess, "Spark 4.0 has no such type")
    withConf("spark.sql.timeType.enabled" -> "true") {
      def times(from: String) =
        s"SELECT CAST(date_format(TIMESTAMP_NTZ'2020-01-01' + make_dt_interval(0, 0, 0, id * 0.3), 'HH:mm:ss.SSS') AS TIME) AS k, x FROM $from"
      table("clock", times("(SELECT id, x FROM facts)"))
      for (keys <- Seq("few", "ends")) {
        table("hours", times(s"(SELECT k AS id, 0 AS x FROM $keys)"))
        val ran = sameRows(spark.sql("SELECT count(*), sum(s.x), min(s.k), max(s.k) FROM clock s RIGHT JOIN hours d ON s.k = d.k"))
        assert(scanned(ran, "clock") < 20000, s"$keys: ${ran.plan}")
      }
    }
  }

  test("decimals skip the row groups and pages that have none of them") {
    // As whole numbers, or as bytes: those that Hive and pyarrow write.
    for (precision <- Seq(9, 12, 18); asBytes <- Seq("true", "false")) {
      withConf("spark.sql.parquet.writeLegacyFormat" -> asBytes)(table(s"prices_$precision", priced("id - 5000", precision)))
      // Half of the product, in which every two still meet.
      for (
        keys <- Seq("few", "ends"); vectorized <- Seq("true", "false");
        if Extent.TriesAll || (keys == "few") == (vectorized == asBytes)
      )
        withConf("spark.sql.parquet.enableVectorizedReader" -> vectorized) {
          table("decimals", s"SELECT CAST(k - 5000 AS decimal($precision, 2)) AS k FROM $keys")
          val ran = joined(s"prices_$precision", "s.price = d.k", "decimals")
          assert(scanned(ran, s"prices_$precision") < Rows / 10, s"$precision $asBytes $keys $vectorized")
        }
    }
    table("prices_20", priced("id", 20))
    table("decimals", "SELECT CAST(k AS decimal(20, 2)) AS k FROM few")
    assert(scanned(joined("prices_20", "s.price = d.k", "decimals"), "prices_20") == Rows)
    withConf("spark.sql.parquet.filterPushdown.decimal" -> "false") {
      table("decimals", "SELECT CAST(k - 5000 AS decimal(12, 2)) AS k FROM few")
      assert(scanned(joined("prices_12", "s.price = d.k", "decimals"), "prices_12") == Rows)
    }
  }

  test("a file whose decimals have another precision than the table's is read whole, and those beside it are not") {
    val path = folder.resolve("evolved-decimals").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(priced("id", 12)).write.parquet(path)
      spark.sql(priced("id % 900", 9)).write.mode("append").parquet(path)
    }
    spark.read.schema("id BIGINT, price DECIMAL(12,2), x BIGINT, bulk STRING").parquet(path).createOrReplaceTempView("evolved")
    for (last <- Seq(Rows - 10L, 30000000L, 9999999000L); size <- Seq(10, 100)) {
      table("decimals", s"SELECT CAST(IF(id < $size, id, $last - id) AS decimal(12, 2)) AS k FROM range(2 * $size)")
      val ran = joined("evolved", "s.price = d.k", "decimals")
      val read = scanned(ran, "evolved-decimals")
      assert(read >= Rows && read < Rows * 1.1, (last, size))
    }
  }

  test("decimal keys beside keys of other columns, and scans of one table with keys and without") {
    table("prices", priced("id", 12))
    table("both", "SELECT k AS id, CAST(k AS decimal(12, 2)) AS k FROM ends")
    assert(scanned(joined("prices", "s.price = d.k AND s.id = d.id", "both"), "prices") < Rows / 10)
    val two = sameRows(spark.sql(
      "SELECT (SELECT count(s.x) FROM prices s JOIN both d ON s.price = d.k), (SELECT count(s.x) FROM prices s), " +
        "(SELECT count(s.x) FROM prices s JOIN (SELECT k FROM both WHERE id < 50) d ON s.price = d.k)"
    ))
    assert(two.rows == Seq(s"[200, $Rows, 50]"))
  }

  test("texts that are no UTF-8, empty or long") {
    // Two bytes that UTF-8 has not, and the character that stands for such bytes.
    val odd =
      "CASE id % 5 WHEN 0 THEN CAST(X'FF' AS string) WHEN 1 THEN CAST(X'FE' AS string) WHEN 2 THEN '\uFFFD' WHEN 3 THEN '' ELSE repeat('x', 100) END"
    table("odd", s"SELECT id, $odd AS name, id AS x FROM range(0, 20000, 1, 1)")
    for (some <- Seq("id = 0", "id = 2", "id = 3", "id = 4", "id IN (0, 1)", "id < 5")) {
      table("few_odd", s"SELECT $odd AS k FROM range(5) WHERE $some")
      val ran = joined("odd", "s.name = d.k", "few_odd")
      assert(filtered(ran) == Seq("parquet-odd(name)") && !ran.rows.head.startsWith("[1,"), some)
    }
  }

  test("ranges of columns with nulls, of dates and of nested columns") {
    assert(scanned(joined("facts", "s.sparse = d.k", "ends"), "facts") < Rows / 20)
    table("dates", "SELECT DATE'2020-01-01' + CAST(k AS int) AS k FROM ends")
    assert(scanned(joined("facts", "s.at = d.k", "dates"), "facts") < Rows / 20)
    assert(scanned(joined("facts", "s.narrow = d.k", "ends"), "facts") < Rows / 20)
    val _ = joined("facts", "s.inner.k = d.k", "ends")
  }

  test("keys that are computed of a column skip the row groups that cannot have them") {
    withConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
      table(
        "times",
        s"SELECT id, TIMESTAMP'2020-01-01' + make_dt_interval(0, CAST(id AS int)) AS ts, CAST(rand(1) * 1000000000 AS bigint) AS x FROM range(0, $Rows, 1, 1)"
      )
    }
    table(
      "days",
      "SELECT DATE'2021-05-01' + CAST(id AS int) AS k, date_trunc('MONTH', DATE'2021-05-01') AS m, id + 10001 AS n FROM range(9)"
    )
    for (condition <- Seq("CAST(s.ts AS date) = d.k", "date_trunc('MONTH', s.ts) = d.m", "s.id + 1 = d.n"))
      assert(scanned(joined("times", condition, "days"), "times") < Rows * 0.15, condition)
  }

  test("files whose columns are missing, narrower, or have no statistics") {
    val path = folder.resolve("evolved").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("SELECT id, CAST(id AS int) AS late, CAST(rand(1) * 1000000000 AS bigint) AS x FROM range(2000)").write.parquet(path)
      spark.sql(
        "SELECT id, id + 3000000000 AS late, CAST(rand(1) * 1000000000 AS bigint) AS x FROM range(2000)"
      ).write.mode("append").parquet(path)
      spark.sql("SELECT id, CAST(rand(1) * 1000000000 AS bigint) AS x FROM range(2000)").write.mode("append").parquet(path)
      spark.sql("SELECT id, id AS late, CAST(rand(1) * 1000000000 AS bigint) AS x FROM range(2000)").write.mode("append")
        .option("parquet.column.statistics.enabled", "false").parquet(path)
    }
    spark.read.schema("id BIGINT, late BIGINT, x BIGINT").parquet(path).createOrReplaceTempView("evolved")
    for (far <- Seq("3000000100", "1900", "-3000000000")) {
      table("lates", s"SELECT IF(id < 100, id, $far + id) AS k FROM range(200)")
      assert(joined("evolved", "s.late = d.k", "lates").rows.nonEmpty)
      table("lates", s"SELECT IF(id < 10, id, $far + id) AS k FROM range(20)")
      assert(joined("evolved", "s.late = d.k", "lates").rows.nonEmpty)
    }
  }

  test("times before 1900 and dates of the Julian calendar") {
    for (kind <- Seq("INT96", "TIMESTAMP_MICROS")) {
      val name = s"old_$kind"
      withConf(
        "spark.sql.parquet.outputTimestampType" -> kind,
        "spark.sql.parquet.datetimeRebaseModeInWrite" -> "LEGACY",
        "spark.sql.parquet.int96RebaseModeInWrite" -> "LEGACY"
      ) {
        table(
          name,
          "SELECT id, CAST(rand(1) * 1000000000 AS bigint) AS x, TIMESTAMP'1500-01-01' + make_interval(CAST(id AS int)) AS ts, DATE'1500-01-01' + CAST(id * 365 AS int) AS day FROM range(600)"
        )
      }
      table("old_times", "SELECT TIMESTAMP'1500-01-01' + make_interval(CAST(id * 2 AS int)) AS k FROM range(200)")
      table("old_days", "SELECT DATE'1500-01-01' + CAST(id * 365 * 2 AS int) AS k FROM range(200)")
      assert(joined(name, "s.ts = d.k", "old_times").rows.head.startsWith("[200, "))
      assert(joined(name, "s.day = d.k", "old_days").rows.head.startsWith("[200, "))
    }
  }

  for (format <- Seq("parquet", "orc", "json"))
    test(s"partitions of $format files by columns of many types") {
      val types = Seq("STRING", "DATE", "TIMESTAMP", "DECIMAL(20,2)", "INT")
      for (kind <- types) {
        val name = s"by_${kind.take(4).toLowerCase}_$format"
        val value = kind match {
          case "STRING"    => "nullif(concat('a b=', id % 12), 'a b=7')"
          case "DATE"      => "DATE'2024-01-01' + CAST(id % 12 AS int)"
          case "TIMESTAMP" => "TIMESTAMP'2024-01-01 10:00:00' + make_interval(0, 0, 0, CAST(id % 12 AS int))"
          case _           => s"CAST(id % 12 AS $kind)"
        }
        withConf("spark.aqePlugin.mode" -> "off") {
          spark.sql(s"CREATE TABLE $name (id BIGINT, x DOUBLE, p $kind) USING $format PARTITIONED BY (p)")
          spark.sql(s"INSERT INTO $name SELECT id, id * 1.5D, $value FROM range(48)")
        }
        table("parts", s"SELECT CAST($value AS $kind) AS k FROM range(5, 10)")
        val catalogued = joined(name, "s.p = d.k", "parts")
        val expected = if (kind == "STRING") 4 else 5
        assert(partitions(catalogued, name) == expected, s"$kind ${catalogued.plan}")
        val path = folder.resolve("warehouse").resolve(name).toString
        spark.read.schema(s"id BIGINT, x DOUBLE, p $kind").format(format).load(path).createOrReplaceTempView("by_path")
        val byPath = joined("by_path", "s.p = d.k", "parts")
        assert(partitions(byPath, name) == expected, kind)
        // Without those that Spark leaves out itself, as no null has a partner.
        def files(ran: Ran) = scans(ran.plan, name).map(_.metrics("numFiles").value).sum
        val all = spark.read.format(format).load(path).inputFiles.count(!_.contains("__HIVE_DEFAULT_PARTITION__"))
        assert(outcomes(byPath).map(_.get("filesLeftOut").asLong) == Seq(all - files(byPath)), kind)
        assert(outcomes(byPath).map(_.get("filesListed").asLong) == Seq(all.toLong), kind)
      }
    }

  test("a metastore is asked for no range of texts, which it orders in its own way") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE by_text (id BIGINT, x DOUBLE, p STRING) USING parquet PARTITIONED BY (p)")
      spark.sql("INSERT INTO by_text SELECT id, id * 1.5D, concat('p', id % 12) FROM range(48)")
    }
    table("three_texts", "SELECT concat('p', id) AS k FROM range(3)")
    // Of a list that is longer than the threshold, Spark makes a range.
    for ((threshold, isListed) <- Seq("3" -> true, "2" -> false))
      withConf("spark.sql.hive.metastorePartitionPruningInSetThreshold" -> threshold) {
        val ran = joined("by_text", "s.p = d.k", "three_texts")
        val conditions = scans(ran.plan, "by_text").flatMap(_.partitionFilters)
        assert(partitions(ran, "by_text") == 3 && conditions.exists(_.exists(_.isInstanceOf[InSet])) == isListed, conditions)
        assert(!conditions.exists(_.exists(_.isInstanceOf[BinaryComparison])), conditions)
      }
  }

  test("each column of a key of several leaves out partitions of its own type") {
    for (
      (kind, value) <-
        Seq("STRING" -> "concat('d', id % 12)", "DATE" -> "DATE'2024-01-01' + CAST(id % 12 AS int)", "INT" -> "CAST(id % 12 AS int)")
    ) {
      val name = s"pairs_by_${kind.toLowerCase}"
      withConf("spark.aqePlugin.mode" -> "off") {
        spark.sql(s"CREATE TABLE $name (id BIGINT, x DOUBLE, p $kind) USING parquet PARTITIONED BY (p)")
        spark.sql(s"INSERT INTO $name SELECT id, id * 1.5D, $value FROM range(48)")
      }
      // Ids of two partitions, one of which has another day.
      table("pairs", s"SELECT id AS i, $value AS k FROM range(48) WHERE id % 12 IN (3, 4) UNION ALL SELECT 5, $value FROM (SELECT 3 AS id)")
      val ran = joined(name, "s.id = d.i AND s.p = d.k", "pairs")
      assert(partitions(ran, name) == 2 && filtered(ran).exists(_.contains("(id,p)")), s"$kind ${ran.plan}")
    }
  }

  test("each column of a key of several skips row groups") {
    table("pairs", "SELECT k AS i, CAST(k AS int) AS n FROM few")
    assert(scanned(joined("facts", "s.id = d.i AND s.narrow = d.n", "pairs"), "facts") < Rows / 20)
    assert(scanned(joined("facts", "s.id = d.i AND s.x % 2 = d.n % 2", "pairs"), "facts") < Rows / 20)
  }

  test("a scan that Spark prunes by one column of a key gets the filter on all of them") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE pruned_by_spark (id BIGINT, x DOUBLE, p INT) USING parquet PARTITIONED BY (p)")
      spark.sql("INSERT INTO pruned_by_spark SELECT id, id * 1.5D, CAST(id % 12 AS int) FROM range(4800)")
    }
    table("wanted", "SELECT id AS i, CAST(id % 12 AS int) AS k, id % 5 AS v FROM range(0, 4800, 3)")
    def joined(on: String) = s"SELECT count(*), sum(s.x) FROM pruned_by_spark s JOIN wanted d ON $on WHERE d.v = 1 AND d.k < 3"
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m", "spark.aqePlugin.test.openGates" -> "true") {
      val both = sameRows(spark.sql(joined("s.p = d.k AND s.id = d.i")))
      val pruning = scans(both.plan, "pruned_by_spark").flatMap(_.partitionFilters).flatMap(_.collect { case p: DynamicPruning => p })
      assert(pruning.nonEmpty, both.plan)
      assert(filtered(both) == Seq("spark_catalog.default.pruned_by_spark(id,p)"))
      // Not all of what is left out is.
      assert(outcomes(both).forall(_.get("filesLeftOut").isNull))
      // Spark's pruning leaves nothing of these keys.
      assert(filtered(sameRows(spark.sql(joined("s.p = d.k")))).isEmpty)
    }
    // Spark plans to prune by the broadcast of a join, and finds none: of three partitions below 3, one has a key.
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.test.openGates" -> "true") {
      val shuffled = sameRows(spark.sql(joined("s.p = d.k")))
      assert(partitions(shuffled, "pruned_by_spark") == 1, shuffled.plan)
      assert(filtered(shuffled) == Seq("spark_catalog.default.pruned_by_spark(p)"))
    }
  }

  test("of more keys than are kept, a column of few values leaves out partitions") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE by_part (id BIGINT, x DOUBLE, p BIGINT) USING parquet PARTITIONED BY (p)")
      spark.sql("INSERT INTO by_part SELECT id, 1.0D, id % 8 FROM range(4000)")
    }
    table("plenty_pairs", "SELECT id AS i, id % 8 AS k FROM range(4000) WHERE id % 8 < 3")
    withConf("spark.aqePlugin.sketch.maxKeys" -> "100") {
      assert(partitions(joined("by_part", "s.id = d.i AND s.p = d.k", "plenty_pairs"), "by_part") == 3)
    }
  }

  test("more keys than are kept choose partitions by the filter") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE spread (id BIGINT, x DOUBLE, p BIGINT) USING parquet PARTITIONED BY (p)")
      spark.sql("INSERT INTO spread SELECT id, 1.0D, id % 8 * 4001 FROM range(64)")
    }
    table("plenty", "SELECT id * 2 AS k FROM range(15000)")
    val ran = joined("spread", "s.p = d.k", "plenty")
    assert(partitions(ran, "spread") == 4, s"${ran.plan} ${ran.decided}")
  }
}
