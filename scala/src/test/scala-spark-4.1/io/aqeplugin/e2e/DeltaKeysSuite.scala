package io.aqeplugin.e2e

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.scalatest.funsuite.AnyFunSuite

/** Keys of a finished build side leave out partitions, files and row groups of Delta tables. */
class DeltaKeysSuite extends AnyFunSuite with TableFormats {

  // Small files count as large ones.
  override protected def applicationConf: Map[String, String] = super.applicationConf ++ Map(
    "spark.sql.files.openCostInBytes" -> "64m",
    "spark.hadoop.parquet.block.size" -> "65536",
    "spark.hadoop.parquet.page.size" -> "4096"
  )

  /** Ten files in the order of `id`, a hundred rows each. */
  private val Rows =
    "SELECT id, CAST(id AS int) AS narrow, CAST(nullif(id % 11, 10) AS int) AS day, id * 2 AS v, CAST(id AS string) AS word, " +
      "DATE'2024-01-01' + CAST(id AS int) AS at, named_struct('k', id) AS inner FROM range(0, 1000, 1, 10)"

  /** The first two of these files. */
  private val FewRows = Rows.replace("1000, 1, 10", "200, 1, 2")

  private def path(name: String): String = s"delta.`file://${folder.resolve(name)}`"

  private def delta(name: String, rows: String, partitioned: String = "", properties: String = "'a' = 'b'"): Unit =
    made(s"CREATE TABLE ${path(name)} USING delta $partitioned TBLPROPERTIES ($properties) AS $rows")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    delta("sales", Rows)
    delta("by_day", Rows, "PARTITIONED BY (day)")
    table("days", "SELECT CAST(id AS int) AS day FROM range(3)")
    table("ids", "SELECT 120 + id * 7 AS id FROM range(9)")
    table("many", "SELECT IF(id < 100, 100 + id, 800 + id) AS id FROM range(200)")
  }

  private def scans(plan: SparkPlan, name: String): Seq[FileSourceScanExec] = collectWithSubqueries(plan) {
    case scan: FileSourceScanExec if scan.relation.location.rootPaths.exists(_.getName == name) => scan
  }

  private def files(ran: Ran, name: String): Long = scans(ran.plan, name).map(_.metrics("numFiles").value).sum

  private def scanned(ran: Ran, name: String): Long = scans(ran.plan, name).map(_.metrics("numOutputRows").value).sum

  /** The files that filters on a table left out, where it is known. */
  private def told(ran: Ran, name: String): Seq[Option[Long]] =
    outcomes(ran).filter(_.get("table").asText.contains(name)).map(one => Option(one.get("filesLeftOut")).filterNot(_.isNull).map(_.asLong))

  /** The same rows; what is read without and with the plugin, once Delta has read the table's log. */
  private def compared(query: String): (Ran, Read, Read) = {
    val expected = withoutPlugin(spark.sql(query))
    val (_, all) = reading(withoutPlugin(spark.sql(query)))
    val (ran, some) = reading(withPlugin(spark.sql(query)))
    assert(ran.rows == expected)
    (ran, all, some)
  }

  private def jobsWithout(query: String): Int = withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query)).jobs)

  private def joined(table: String, dimension: String, condition: String): String =
    s"SELECT count(*), sum(s.v), max(s.word), min(s.narrow) FROM $table s JOIN $dimension d ON $condition"

  test("a shuffled join reads the partitions of its keys alone, without a job to list them") {
    val query = joined(path("by_day"), "days", "s.day = d.day")
    val (ran, all, some) = compared(query)
    assert(ran.jobs == jobsWithout(query))
    assert(scanned(ran, "by_day") == 273 && all.records - some.records == 910 - 273)
    assert(some.bytes < all.bytes * 0.5, s"$some of $all")
    assert(scans(ran.plan, "by_day").map(_.metrics("numPartitions").value) == Seq(3L))
    assert(told(ran, "by_day") == Seq(Some(70L)))
  }

  test("each column of a key of several leaves out partitions or files") {
    table("pairs", "SELECT id, CAST(id % 11 AS int) AS day FROM range(120, 170) WHERE id % 11 < 2")
    val byDay = sameRows(spark.sql(joined(path("by_day"), "pairs", "s.day = d.day AND s.id = d.id")))
    assert(scans(byDay.plan, "by_day").map(_.metrics("numPartitions").value) == Seq(2L))
    assert(scanned(byDay, "by_day") == 19, "one of ten files of each partition")
    val sales = sameRows(spark.sql(joined(path("sales"), "pairs", "s.day = d.day AND s.id = d.id")))
    assert(files(sales, "sales") == 1)
    assert(told(byDay, "by_day") == Seq(Some(98L)) && told(sales, "sales") == Seq(Some(9L)))
  }

  test("files that the filters of several joins or of several uses leave out of one scan are told once") {
    val sales = path("sales")
    table("days_of_first", "SELECT CAST(id AS int) AS narrow FROM range(300)")
    val both = sameRows(spark.sql(s"${joined(sales, "ids", "s.id = d.id")} JOIN days_of_first f ON s.narrow = f.narrow"))
    assert(files(both, "sales") == 1 && told(both, "sales").flatten == Seq(9L) && outcomes(both).size == 2, told(both, "sales"))
    val uses = Seq(joined(sales, "ids", "s.id = d.id"), joined(sales, "days", "s.id = d.day"))
    val twice = sameRows(spark.sql(uses.mkString("SELECT * FROM (", ") CROSS JOIN (", ")")))
    assert(files(twice, "sales") == 2 && told(twice, "sales") == Seq(Some(8L), None), "one scan with a union of both")
  }

  test("partitions by strings") {
    delta(
      "by_word",
      "SELECT id, day AS v, day AS narrow, concat('w=', day) AS word FROM (SELECT id, id % 11 AS day FROM range(1000))",
      "PARTITIONED BY (word)"
    )
    table("words", "SELECT concat('w=', id * 4) AS word FROM range(4)")
    val ran = sameRows(spark.sql(joined(path("by_word"), "words", "s.word = d.word")))
    assert(scans(ran.plan, "by_word").map(_.metrics("numPartitions").value) == Seq(3L))
  }

  test("partitions of a table whose files Delta did not list while it planned") {
    delta("by_text", "SELECT id, concat('w=', id % 11) AS word FROM range(1000)", "PARTITIONED BY (word)")
    table("texts", "SELECT concat('w=', id * 4) AS word FROM range(4)")
    val query = s"SELECT s.id, s.word FROM ${path("by_text")} s JOIN texts d ON s.word = d.word"
    withConf("spark.databricks.delta.stats.skipping" -> "false")(assert(sameRows(spark.sql(query)).rows.size == 273))
    withConf("spark.aqePlugin.test.openGates" -> "true")(spark.sql(query).write.format("noop").mode("overwrite").save())
  }

  test("a file whose statistics exclude all keys is not read") {
    val query = joined(path("sales"), "ids", "s.id = d.id")
    val (ran, all, some) = compared(query)
    assert(files(ran, "sales") == 1 && scanned(ran, "sales") == 100)
    // A few records of Delta's log are read to choose the files.
    assert(all.records - some.records > 850, s"$some of $all")
    assert(some.bytes < all.bytes * 0.5, s"$some of $all")
    val size = spark.sql(s"DESCRIBE DETAIL ${path("sales")}").select("sizeInBytes").head().getLong(0)
    val read = scans(ran.plan, "sales").map(_.metrics("filesSize").value).sum
    assert(told(ran, "sales") == Seq(Some(9L)) && outcomes(ran).map(_.get("bytesLeftOut").asLong) == Seq(size - read))
    // Delta lists files under a condition that it did not know when it planned.
    val under = sameRows(spark.sql(s"$query WHERE s.v < 1200"))
    assert(files(under, "sales") == 1 && told(under, "sales") == Seq(Some(5L)))
  }

  test("texts of ASCII leave out files by statistics that are cut or have other characters than the files") {
    val long = "repeat('long', 20)"
    val words = Seq(
      "concat('w', lpad(id, 5, '0'))",
      s"concat(lpad(id, 5, '0'), $long)",
      "concat(lpad(id, 5, '0'), IF(id % 100 = 0, CAST(X'80' AS string), IF(id % 100 = 99, '\ud83d\ude00', '')))",
      "concat(lpad(id, 31, '0'), '\ud83d\ude00', id)",
      "concat('w', lpad(nullif(id % 100, 50) + id DIV 100 * 100, 5, '0'))"
    )
    for ((word, i) <- words.zipWithIndex) {
      delta(s"texts_$i", s"SELECT id, id AS v, 1 AS narrow, $word AS word FROM range(0, 1000, 1, 10)")
      spark.sql(s"SELECT * FROM ${path(s"texts_$i")} WHERE id IN (207, 219)").createOrReplaceTempView("found")
      table("some_words", "SELECT word FROM found UNION ALL SELECT concat(max(word), 'z') FROM found UNION ALL SELECT 'w'")
      val ran = sameRows(spark.sql(joined(path(s"texts_$i"), "some_words", "s.word = d.word")))
      assert(ran.rows.head.startsWith("[2, ") && files(ran, s"texts_$i") == 1, word)
    }
    // The least and the greatest of each file, beside keys that are cut like them.
    for (i <- Extent.some(sample = 3)(words.indices)) {
      table(
        "ends_of_words",
        s"SELECT explode(array(min(word), max(word), substr(min(word), 1, 32), substr(max(word), 1, 32))) AS word FROM ${path(s"texts_$i")} GROUP BY id DIV 100"
      )
      assert(!sameRows(spark.sql(joined(path(s"texts_$i"), "ends_of_words", "s.word = d.word"))).rows.head.startsWith("[0, "))
    }
  }

  test("texts beyond ASCII leave out no files: in Delta's statistics they are not in Spark's order") {
    // The least of them is no UTF-8, and is greater in the statistics, where it is the character for such bytes.
    val word = "IF(id % 100 = 0, CAST(X'80' AS string), concat('é', id DIV 100))"
    delta("worded", s"SELECT id, id AS v, 1 AS narrow, $word AS word FROM range(0, 1000, 1, 10)")
    table("words_in_one_file", "SELECT concat('é', id) AS word FROM range(1)")
    val found = sameRows(spark.sql(joined(path("worded"), "words_in_one_file", "s.word = d.word")))
    assert(files(found, "worded") == 10 && found.rows.head.startsWith("[99,"), found.plan)
    spark.sql(s"SELECT * FROM ${path("worded")}").createOrReplaceTempView("worded")
    val inferred =
      "SELECT l.id, r.word FROM ids l RIGHT JOIN worded r ON l.id = r.id WHERE (l.id = 127 AND r.word = 'é1') OR (l.id = 134 AND r.word = 'é1x')"
    assert(sameRows(spark.sql(inferred)).rows.size == 1)
  }

  test("more keys than are listed leave out the files in the gap between them") {
    val ran = sameRows(spark.sql(joined(path("sales"), "many", "s.id = d.id")))
    assert(files(ran, "sales") == 2)
  }

  test("keys of a nested column") {
    val ran = sameRows(spark.sql(joined(path("sales"), "ids", "s.inner.k = d.id")))
    assert(ran.rows == sameRows(spark.sql(joined(path("sales"), "ids", "s.id = d.id"))).rows)
  }

  test("dates and narrow integers") {
    table("dates", "SELECT DATE'2024-01-01' + CAST(id AS int) AS at FROM range(3)")
    assert(files(sameRows(spark.sql(joined(path("sales"), "dates", "s.at = d.at"))), "sales") == 1)
    assert(files(sameRows(spark.sql(joined(path("sales"), "ids", "s.narrow = d.id"))), "sales") == 1)
  }

  test("keys that are computed of a column leave out the files that cannot have them") {
    delta(
      "times",
      "SELECT id, id AS v, 1 AS narrow, 'w' AS word, TIMESTAMP'2024-01-01' + make_dt_interval(CAST(id AS int)) AS at FROM range(0, 1000, 1, 10)"
    )
    table(
      "some_days",
      "SELECT DATE'2024-05-01' + CAST(id AS int) AS at, date_trunc('MONTH', DATE'2024-05-01') AS month, id + 121 AS id FROM range(9)"
    )
    for (condition <- Seq("CAST(s.at AS date) = d.at", "date_trunc('MONTH', s.at) = d.month", "s.id + 1 = d.id"))
      assert(files(sameRows(spark.sql(joined(path("times"), "some_days", condition))), "times") == 1, condition)
  }

  test("a key that is computed of a partition column keeps the rows") {
    assert(sameRows(spark.sql(joined(path("by_day"), "days", "s.day + 1 = d.day"))).rows.head.startsWith("[182, "))
  }

  for (byPosition <- Seq("true", "false"))
    test(s"deleted rows stay deleted where Delta counts rows ${if (byPosition == "true") "by Parquet" else "itself"}") {
      val name = s"deleted_$byPosition"
      withConf(
        "spark.databricks.delta.deletionVectors.useMetadataRowIndex" -> byPosition,
        "spark.sql.parquet.enableVectorizedReader" -> byPosition
      ) {
        delta(name, Rows, properties = "'delta.enableDeletionVectors' = 'true'")
        made(s"DELETE FROM ${path(name)} WHERE id % 2 = 0 AND id < 200")
        val ran = sameRows(spark.sql(joined(path(name), "ids", "s.id = d.id")))
        assert(ran.rows.head.startsWith("[4, ") && files(ran, name) == 1)
        val before = sameRows(spark.sql(joined(s"${path(name)} VERSION AS OF 0", "ids", "s.id = d.id")))
        assert(before.rows.head.startsWith("[9, "))
      }
    }

  test("deleted rows in row groups and pages of which some are skipped") {
    delta(
      "large",
      "SELECT id, id AS v, 1 AS narrow, 'w' AS word FROM range(0, 50000, 1, 1)",
      properties = "'delta.enableDeletionVectors' = 'true'"
    )
    made(s"DELETE FROM ${path("large")} WHERE id % 2 = 0")
    table("ends", "SELECT IF(id < 100, id + 5000, id + 49800) AS id FROM range(200)")
    for (reader <- Seq("true", "false"))
      withConf("spark.sql.parquet.enableVectorizedReader" -> reader) {
        val ran = sameRows(spark.sql(joined(path("large"), "ends", "s.id = d.id")))
        assert(ran.rows.head.startsWith("[100, ") && scanned(ran, "large") < 25000, s"${scanned(ran, "large")}")
      }
  }

  for (mode <- Seq("name", "id"))
    test(s"columns that have other names in the files, by $mode") {
      val (name, parts) = (s"mapped_$mode", s"mapped_parts_$mode")
      delta(name, Rows, properties = s"'delta.columnMapping.mode' = '$mode'")
      delta(parts, Rows, "PARTITIONED BY (day)", s"'delta.columnMapping.mode' = '$mode'")
      made(
        s"ALTER TABLE ${path(name)} RENAME COLUMN id TO other",
        s"ALTER TABLE ${path(name)} RENAME COLUMN v TO id",
        s"ALTER TABLE ${path(name)} RENAME COLUMN other TO v",
        s"ALTER TABLE ${path(parts)} RENAME COLUMN day TO tag",
        s"INSERT INTO ${path(name)} $Rows"
      )
      for (column <- Seq("id", "v")) assert(files(sameRows(spark.sql(joined(path(name), "ids", s"s.$column = d.id"))), name) < 20, column)
      val byPart = sameRows(spark.sql(joined(path(parts), "days", "s.tag = d.day")))
      assert(scans(byPart.plan, parts).map(_.metrics("numPartitions").value) == Seq(3L))
    }

  test("columns that were swapped in files without a mapping of their own") {
    delta("swapped", Rows)
    made(
      s"ALTER TABLE ${path("swapped")} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
      s"ALTER TABLE ${path("swapped")} RENAME COLUMN id TO other",
      s"ALTER TABLE ${path("swapped")} RENAME COLUMN v TO id",
      s"ALTER TABLE ${path("swapped")} RENAME COLUMN other TO v"
    )
    val ran = sameRows(spark.sql(joined(path("swapped"), "ids", "s.id = d.id")))
    // Even numbers from 120 to 176 among the keys, which are in two files.
    assert(ran.rows.head.startsWith("[5, ") && files(ran, "swapped") == 1)
  }

  test("columns that were added, widened, or have no statistics") {
    delta(
      "grown",
      "SELECT CAST(id AS int) AS k, id * 2 AS v, 'w' AS word, 1 AS narrow FROM range(0, 1000, 1, 10)",
      properties = "'delta.enableTypeWidening' = 'true'"
    )
    made(
      s"ALTER TABLE ${path("grown")} ALTER COLUMN k TYPE bigint",
      s"ALTER TABLE ${path("grown")} ADD COLUMN late bigint",
      s"INSERT INTO ${path("grown")} SELECT id + 5000000000, id, 'x', 2, id FROM range(0, 1000, 1, 10)"
    )
    table("far", "SELECT IF(id < 5, id * 3, 5000000000 + id) AS id FROM range(9)")
    val widened = sameRows(spark.sql(joined(path("grown"), "far", "s.k = d.id")))
    assert(files(widened, "grown") == 2)
    assert(files(sameRows(spark.sql(joined(path("grown"), "ids", "s.late = d.id"))), "grown") < 20)
    withConf("spark.databricks.delta.stats.collect" -> "false")(delta("bare", Rows))
    val bare = sameRows(spark.sql(joined(path("bare"), "ids", "s.id = d.id")))
    assert(files(bare, "bare") == 10)
  }

  test("a Delta table that changes between two queries") {
    delta("living", Rows)
    def query = spark.sql(joined(path("living"), "ids", "s.id = d.id"))
    val first = query
    assert(sameRows(first).rows.head.startsWith("[9, "))
    made(s"INSERT INTO ${path("living")} $Rows")
    assert(sameRows(query).rows.head.startsWith("[18, "))
    made(s"DELETE FROM ${path("living")} WHERE id < 140")
    assert(sameRows(query).rows.head.startsWith("[12, "))
  }

  test("commands change the same rows") {
    def changed(mode: String): Seq[String] = {
      val name = s"target_$mode"
      delta(name, FewRows, properties = "'delta.enableDeletionVectors' = 'true'")
      withConf("spark.aqePlugin.mode" -> mode, "spark.aqePlugin.test.openGates" -> "true") {
        val _ = spark.sql(
          s"MERGE INTO ${path(name)} t USING ids d ON t.id = d.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -1 " +
            "WHEN NOT MATCHED THEN INSERT (id) VALUES (d.id)"
        )
      }
      withoutPlugin(spark.sql(s"SELECT * FROM ${path(name)}"))
    }
    assert(changed("apply") == changed("off"))
  }
}
