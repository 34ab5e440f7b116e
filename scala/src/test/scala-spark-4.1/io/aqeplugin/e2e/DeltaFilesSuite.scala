package io.aqeplugin.e2e

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.TimeZone
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent, SparkListenerTaskStart}
import org.apache.spark.sql.catalyst.expressions.IsNotNull
import org.apache.spark.sql.execution.{ColumnarToRowExec, FileSourceScanExec, SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.datasources.FileIndex
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.exec.{ColumnKeys, FilterSummary}
import io.aqeplugin.observe.TableStatistics
import io.aqeplugin.storage.ScanAdapter

/** Keys of a finished build side leave out files of Delta tables by the bounds that Delta's log has of any column. */
class DeltaFilesSuite extends AnyFunSuite with TableFormats {

  private val Columns = "id AS k, printf('w%04d', id) AS w, id AS v"

  /** In three of ten files. */
  private val Wanted = "id IN (7, 500, 501, 999)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    dimension("wanted", "id")
    dimension("wanted_words", "printf('w%04d', id)")
  }

  private def dimension(name: String, key: String, where: String = Wanted): Unit =
    table(name, s"SELECT $key AS k FROM range(1000) WHERE $where")

  private def path(name: String): String = s"delta.`file://${folder.resolve(name)}`"

  private def delta(name: String, columns: String = Columns, properties: String = "", files: Int = 10): Unit =
    made(s"CREATE TABLE ${path(name)} USING delta TBLPROPERTIES ('a' = 'b' $properties) AS SELECT $columns FROM range(0, 1000, 1, $files)")

  private def joined(table: String, dimension: String = "wanted", column: String = "k"): String =
    s"SELECT count(*), sum(s.v), min(s.v), max(s.v) FROM ${path(table)} s JOIN $dimension d ON s.$column = d.k"

  /** Files of a table that a query read, which has the rows that it has without the plugin. */
  private def files(table: String, query: String): Long = read(sameRows(spark.sql(query)), table)

  private def read(ran: Ran, table: String): Long = collectWithSubqueries(ran.plan) {
    case scan: FileSourceScanExec if scan.relation.location.rootPaths.exists(_.getName == table) => scan.metrics("numFiles").value
  }.sum

  /** A table like another one, whose log was written by somebody else. */
  private def copied(from: String, to: String)(edited: String => String): Unit = {
    val (source, target) = (folder.resolve(from), folder.resolve(to))
    Using.resource(Files.walk(source))(_.iterator.asScala.toVector).filterNot(_.getFileName.toString.endsWith(".crc")).foreach { file =>
      val copy = target.resolve(source.relativize(file).toString)
      if (Files.isDirectory(file)) { val _ = Files.createDirectories(copy) }
      else if (isLog(file)) { val _ = Files.write(copy, edited(Files.readString(file, UTF_8)).getBytes(UTF_8)) }
      else { val _ = Files.copy(file, copy) }
    }
  }

  private def isLog(file: Path): Boolean = file.getFileName.toString.endsWith(".json")

  test("a small table: files are left out without a job, or what Delta knows of them without one leaves out none") {
    delta("small")
    val query = joined("small")
    withoutPlugin(spark.sql(query))
    val off = withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query)).jobs)
    val on = sameRows(spark.sql(query))
    assert(read(on, "small") == 3 && outcomes(on).map(_.get("filesLeftOut").asLong) == Seq(7L))
    assert(on.jobs <= off + 1, "the filter's own")
    withConf("spark.databricks.delta.allFilesInCrc.enabled" -> "false")(delta("unsummed"))
    assert(files("unsummed", joined("unsummed")) == 10)
    withConf("spark.sql.files.openCostInBytes" -> "64m")(assert(files("unsummed", joined("unsummed")) == 3))
    // Now they are known.
    assert(files("unsummed", joined("unsummed")) == 3)
  }

  test("a table of many files: their bounds are read by one job for each column and version") {
    delta("many", files = 100)
    def filtered(): Ran = sameRows(spark.sql(joined("many")))
    // A busy machine may be late for the first query.
    def filteredInTime(): Ran = Iterator.continually(filtered()).take(20).find(read(_, "many") < 10).getOrElse(fail("no file is left out"))
    withoutPlugin(spark.sql(joined("many")))
    val first = filtered().jobs
    val _ = filteredInTime()
    val second = filteredInTime().jobs
    assert(first == second + 1, s"$first, then $second")
    made(s"INSERT INTO ${path("many")} SELECT $Columns FROM range(0, 1000, 1, 100)")
    assert(filtered().jobs == first)
    val _ = filteredInTime()
  }

  test("a log that is not read in time is not waited for, and serves the next query") {
    delta("late", files = 100)
    withConf("spark.aqePlugin.mode" -> "off") {
      withoutPlugin(spark.sql(s"SELECT * FROM ${path("late")}"))
      val first = scanned("late")
      val started = new CountDownLatch(2)
      val busy = new Thread(() => spark.sparkContext.parallelize(1 to 2, 2).foreach(_ => DeltaFilesSuite.holdSlot()))
      spark.sparkContext.addSparkListener(new SparkListener {
        override def onTaskStart(start: SparkListenerTaskStart): Unit = started.countDown()
      })
      busy.start()
      assert(started.await(20, TimeUnit.SECONDS))
      val begin = System.nanoTime()
      val whole = narrowed(first)
      val seconds = (System.nanoTime() - begin) / 1e9
      assert(seconds > 0.9 && seconds < DeltaFilesSuite.HeldMillis / 1000.0 - 1 && filesOf(whole) == 100, seconds)
      busy.join()
      eventually(timeout(Span(20, Seconds)))(assert(filesOf(narrowed(scanned("late"))) == 3))
      assert(filesOf(narrowed(first)) == 100, "one query has one plan")
    }
  }

  test("a query that is planned anew lists no files again") {
    delta("planned")
    withConf("spark.aqePlugin.mode" -> "off") {
      val scan = scanned("planned")
      val (first, again) = (narrowed(scan), narrowed(scan))
      assert(filesOf(first) == 3 && filesOf(again) == 3 && locationOf(first).eq(locationOf(again)))
      assert(filesOf(narrowed(scan, 7L)) == 1)
    }
  }

  test("of equal scans in one query, which Delta prepares once, none is listed anew by a job") {
    delta("alike")
    val listings = new AtomicInteger
    val listener = new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        case start: SparkListenerSQLExecutionStart if start.details.contains("filesForScan") => val _ = listings.incrementAndGet()
        case _                                                                               =>
      }
    }
    withConf("spark.aqePlugin.mode" -> "off") {
      val one = s"SELECT k, v FROM ${path("alike")} WHERE v >= 0"
      val scans = collect(spark.sql(s"$one UNION ALL $one").queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }
      assert(scans.size == 2)
      drain()
      spark.sparkContext.addSparkListener(listener)
      val notNull = ThisSparkLine.withDataFilters(scans.last, scans.last.output.map(IsNotNull(_)))
      assert((scans :+ notNull).map(scan => filesOf(narrowed(scan))) == Seq(3, 3, 3))
      drain()
      assert(listings.get == 0)
      // Spark asks with the scan's own attributes.
      scans.foreach(_.selectedPartitions)
      drain()
      spark.sparkContext.removeSparkListener(listener)
      assert(listings.get == 1)
    }
  }

  private def scanned(table: String): FileSourceScanExec =
    collect(spark.sql(s"SELECT k, v FROM ${path(table)}").queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }.head

  private def narrowed(scan: FileSourceScanExec, keys: Long*): SparkPlan = {
    val all = if (keys.isEmpty) Seq(7L, 500L, 501L, 999L) else keys
    val built = FilterSummary("exact", 8L, Seq(ColumnKeys(all.map(key => (key, key)), Some(all))), 1L, 0L)
    ScanAdapter.withKnownKeys(scan, scan.output.filter(_.name == "k"), built, TableStatistics.None, 50)
  }

  private def locationOf(scan: SparkPlan): FileIndex = scan match {
    case file: FileSourceScanExec => file.relation.location
    case other                    => fail(other.toString)
  }

  private def filesOf(scan: SparkPlan): Int = locationOf(scan).listFiles(Nil, Nil).map(_.files.size).sum

  test("values of each type that filters hold") {
    val types = Seq(
      "bigint" -> "id - 500",
      "int" -> "CAST(id - 500 AS int)",
      "smallint" -> "CAST(id - 500 AS smallint)",
      "decimal(9, 2)" -> "CAST((id - 500) / 4 AS decimal(9, 2))",
      "decimal(18, 4)" -> "CAST(id - 500 AS decimal(18, 4))",
      "date" -> "DATE'1960-01-01' + CAST(id * 30 AS int)",
      "timestamp" -> "TIMESTAMP'1965-01-01 00:00:00.123456' + make_interval(0, CAST(id DIV 12 AS int), 0, CAST(id % 12 AS int))",
      "timestamp_ntz" -> "CAST(TIMESTAMP'1969-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id AS int)) AS timestamp_ntz)",
      "string" -> "printf('%05d', id)"
    )
    types.zipWithIndex.foreach { case ((name, value), i) =>
      delta(s"typed$i", s"$value AS k, id AS v", files = 10)
      dimension("typed_keys", value)
      assert(files(s"typed$i", joined(s"typed$i", "typed_keys")) <= 4, name)
    }
    // Of another type than those above, or before the calendar changed.
    for (
      (name, value) <-
        Seq("old" -> "DATE'1400-01-01' + CAST(id * 30 AS int)", "wide" -> "CAST(id AS decimal(30, 2))", "float" -> "float(id)")
    ) {
      delta(name, s"$value AS k, id AS v")
      dimension("typed_keys", value)
      assert(files(name, joined(name, "typed_keys")) == 10, name)
    }
  }

  test("times by clocks whose zone has seconds, which Delta leaves out") {
    val zone = TimeZone.getDefault
    withConf("spark.sql.session.timeZone" -> "Africa/Monrovia") {
      delta("clocks", "TIMESTAMP'1960-01-01 00:00:00' + make_dt_interval(0, 0, 0, id) AS k, id AS v")
      dimension("moments", "TIMESTAMP'1960-01-01 00:00:00' + make_dt_interval(0, 0, 0, id)", "id % 100 IN (0, 1, 50, 98, 99)")
      assert(sameRows(spark.sql(joined("clocks", "moments"))).rows.head.startsWith("[50, "))
    }
    assert(TimeZone.getDefault == zone)
  }

  test("a greatest text that an older Delta has cut within a character") {
    val word = "concat(lpad(id, 31, '0'), '\ud83d\ude00', id)"
    delta("whole_words", s"$word AS k, id AS v")
    dimension("cut_words", word)
    copied("whole_words", "halved_words")(_.replaceAll("""(\\"maxValues\\":\{\\"k\\":\\"\d{31})[^\\]*""", "$1?\ufffd"))
    assert(Files.readString(folder.resolve("halved_words/_delta_log/00000000000000000000.json"), UTF_8).contains("999?\ufffd"))
    withConf("spark.sql.files.openCostInBytes" -> "64m")(assert(files("halved_words", joined("halved_words", "cut_words")) < 10))
  }

  test("where Delta may not go by its statistics, all files are read") {
    withConf("spark.databricks.delta.stats.skipping" -> "false")(assert(files("small", joined("small")) == 10))
  }

  test("texts beyond ASCII leave out files where both bounds are in Spark's order") {
    val texts = Seq(
      ("concat('é', printf('%04d', id))", 3),
      ("concat('한글', printf('%04d', id))", 3),
      ("concat(printf('%04d', id), IF(id % 2 = 0, 'é', '😀'))", 3),
      ("concat(repeat('ü', 28), printf('%04d', id))", 3),
      // Bounds that end before what differs: characters of which UTF-16 has another order, none that are UTF-8, and a long text.
      ("concat('😀', printf('%04d', id))", 10),
      ("concat(repeat('ü', 40), printf('%04d', id))", 10),
      ("concat(IF(id % 100 = 0, CAST(X'80' AS string), 'é'), printf('%04d', id))", 10),
      ("concat(IF(id % 100 = 99, '\uffee', 'é'), printf('%04d', id))", 10)
    )
    texts.zipWithIndex.foreach { case ((text, expected), i) =>
      delta(s"worded$i", s"$text AS w, id AS v")
      dimension("worded_keys", text)
      assert(files(s"worded$i", joined(s"worded$i", "worded_keys", "w")) == expected, text)
    }
  }

  test("the least and the greatest text of each file are found, however they are cut") {
    val texts = Seq("'é'", "repeat('ü', 40)", "'😀'", "concat(repeat('x', 31), '😀')", "concat(repeat('x', 32), '\u007f')", "'\uffee'")
    Extent.some(sample = 3)(texts).zipWithIndex.foreach { case (text, i) =>
      val word = s"concat($text, id % 100, IF(id % 3 = 0, CAST(X'FF' AS string), IF(id % 3 = 1, '\udbff\udfff', '')))"
      delta(s"ends$i", s"concat(id DIV 100, $word) AS w, id AS v")
      table(
        "end_keys",
        s"SELECT explode(array(min(w), max(w), substr(min(w), 1, 32), substr(max(w), 1, 32))) AS k FROM ${path(s"ends$i")} GROUP BY v DIV 100"
      )
      assert(!sameRows(spark.sql(joined(s"ends$i", "end_keys", "w"))).rows.head.startsWith("[0, "), text)
    }
  }

  for (mode <- Seq("name", "id"))
    test(s"columns that have other names in the files, by $mode: files by the bounds of the column that is meant") {
      val name = s"mapped_by_$mode"
      delta(name, properties = s", 'delta.columnMapping.mode' = '$mode'")
      made(
        s"ALTER TABLE ${path(name)} RENAME COLUMN k TO other",
        s"ALTER TABLE ${path(name)} RENAME COLUMN v TO k",
        s"ALTER TABLE ${path(name)} RENAME COLUMN other TO v",
        s"INSERT INTO ${path(name)} SELECT 999 - id, w, id FROM (SELECT id, printf('w%04d', id) AS w FROM range(0, 1000, 1, 10))"
      )
      assert(files(name, joined(name)) == 6 && files(name, joined(name, "wanted_words", "w")) == 6)
      made(s"ALTER TABLE ${path(name)} DROP COLUMN w", s"ALTER TABLE ${path(name)} ADD COLUMN w string")
      assert(sameRows(spark.sql(joined(name, "wanted_words", "w"))).rows == Seq("[0, null, null, null]"))
      made(s"INSERT INTO ${path(name)} (k, v, w) SELECT id, id, printf('w%04d', 999 - id) FROM range(0, 1000, 1, 10)")
      assert(sameRows(spark.sql(joined(name, "wanted_words", "w"))).rows == Seq("[4, 1989, 0, 992]"))
    }

  test("two uses of a table, one under a condition: each reads the files of its own keys") {
    delta("twice")
    dimension("others", "id", "id IN (250, 260)")
    // The keys of an outer join go one way; else the side with a condition might be the one that gives them.
    val uses = Seq(joined("twice"), joined("twice", "others").replace(path("twice"), s"(SELECT * FROM ${path("twice")} WHERE v < 500)"))
      .map(_.replace(" JOIN ", " RIGHT JOIN "))
    val ran = sameRows(spark.sql(uses.mkString("SELECT * FROM (", ") CROSS JOIN (", ")")))
    assert(read(ran, "twice") == 4, "three, and one")
  }

  test("statistics that are missing, of another type, cut, or contradict themselves") {
    delta("honest")
    val bound = """\\"(min|max)Values\\":\{\\"k\\":(\d+),\\"w\\":\\"([^"\\]*)\\""""
    val logs = Seq[(String, String => String, Int)](
      ("without", _.replaceAll(""","stats":"(\\.|[^"\\])*"""", ""), 10),
      ("empty", _.replaceAll(""""stats":"(\\.|[^"\\])*"""", """"stats":"{}""""), 10),
      ("broken", _.replaceAll(""""stats":"\{""", """"stats":"{]"""), 10),
      ("typed", _.replaceAll("\"k\\\\\":(\\d+)", "\"k\\\\\":\\\\\"x$1\\\\\""), 10),
      ("crossed", _.replaceAll("minValues", "m").replaceAll("maxValues", "minValues").replaceAll("\"m\\\\", "\"maxValues\\\\"), 10),
      ("same", identity, 3)
    )
    assert(bound.r.findFirstIn(Files.readString(folder.resolve("honest/_delta_log/00000000000000000000.json"))).isDefined)
    withConf("spark.sql.files.openCostInBytes" -> "64m") {
      for ((name, edit, expected) <- logs) {
        copied("honest", name)(edit)
        assert(files(name, joined(name)) == expected, name)
        val _ = files(name, joined(name, "wanted_words", "w"))
      }
      copied("honest", "some")(log =>
        log.linesIterator.zipWithIndex.map { case (line, i) => if (i % 2 == 0) logs.head._2(line) else line }.mkString("\n")
      )
      assert((4 to 9).contains(files("some", joined("some")).toInt))
    }
  }

  test("Delta's second connector: files are left out by keys, and partitions") {
    delta("second")
    made(
      s"CREATE TABLE ${path("second_parts")} USING delta PARTITIONED BY (p) AS SELECT id AS k, CAST(id % 4 AS int) AS p, id AS v FROM range(1000)"
    )
    table("parts", "SELECT 1 AS k")
    def scanned(ran: Ran): Long = collectWithSubqueries(ran.plan) { case scan: BatchScanExec => scan.metrics("numOutputRows").value }.sum
    withConf("spark.databricks.delta.v2.enableMode" -> "STRICT", "spark.sql.files.openCostInBytes" -> "64m") {
      val ran = sameRows(spark.sql(joined("second")))
      assert(scanned(ran) <= 300)
      assert(outcomes(ran).map(_.get("filesLeftOut").asLong) == Seq(7L))
      assert(outcomes(ran).map(_.get("filesListed").asLong) == Seq(10L))
      assert(scanned(sameRows(spark.sql(joined("second", "wanted_words", "w")))) <= 300)
      assert(scanned(sameRows(spark.sql(joined("second_parts", "parts", "p")))) == 250)
    }
  }

  test("a table that changes between the planning of a scan and its keys") {
    val changes = Seq(
      "append" -> Seq(s"INSERT INTO ${path("live")} SELECT $Columns FROM range(1000)"),
      "compaction" -> Seq(s"OPTIMIZE ${path("live")}"),
      "deletion" -> Seq(s"DELETE FROM ${path("live")} WHERE k > 400"),
      "vacuum" -> Seq(s"INSERT INTO ${path("live")} SELECT $Columns FROM range(1000)", s"VACUUM ${path("live")} RETAIN 0 HOURS"),
      "rename" -> Seq(s"ALTER TABLE ${path("live")} RENAME COLUMN k TO x", s"ALTER TABLE ${path("live")} RENAME COLUMN v TO k")
    )
    // Delta keeps what it says of ten files in a checksum, of sixty it does not.
    val sizes = Seq(10, 60)
    for (((change, statements), i) <- changes.zipWithIndex; files <- if (Extent.TriesAll) sizes else Seq(sizes(i % 2))) {
      val name = s"live_${change}_$files"
      delta(name, properties = ", 'delta.columnMapping.mode' = 'name'", files = files)
      withConf("spark.aqePlugin.mode" -> "off", "spark.databricks.delta.retentionDurationCheck.enabled" -> "false") {
        val execution = spark.sql(s"SELECT k, v FROM ${path(name)}").queryExecution
        val scan = collect(execution.executedPlan) { case scan: FileSourceScanExec => scan }.head
        made(statements.map(_.replace(path("live"), path(name))): _*)
        SQLExecution.withNewExecutionId(execution) {
          val keys = FilterSummary("exact", 8L, Seq(ColumnKeys(Seq((7L, 7L), (500L, 999L)), Some(Seq(7L, 500L, 999L)))), 1L, 0L)
          val read = ScanAdapter.withKnownKeys(scan, scan.output.filter(_.name == "k"), keys, TableStatistics.None, 50)
          val rows = ColumnarToRowExec(read).executeCollect().map(_.getLong(0)).toSeq
          assert(rows.filter(Set(7L, 500L, 999L)).sorted == Seq(7L, 500L, 999L) && rows.size < 1000, change)
          assert(ColumnarToRowExec(scan).executeCollect().length == 1000, change)
        }
      }
    }
  }
}

private object DeltaFilesSuite {
  val HeldMillis = 5000L

  /** A task of a closure that holds no suite. */
  def holdSlot(): Unit = Thread.sleep(HeldMillis)
}
