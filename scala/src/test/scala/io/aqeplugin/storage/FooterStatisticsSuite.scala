package io.aqeplugin.storage

import java.io.{FileNotFoundException, IOException, RandomAccessFile}
import java.net.SocketTimeoutException
import java.util.concurrent.{ConcurrentLinkedQueue, Executor, RejectedExecutionException}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.EstimateSource
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.metrics.Faults

/** Footers that cannot be read, or not yet. */
class FooterStatisticsSuite extends AnyFunSuite with PluginSession {
  private val Rows = 400000L

  private lazy val path: String = {
    val path = folder.resolve("numbers").toString
    // Random numbers, so that the files are large enough to be opened.
    spark.range(0, Rows, 1, 4).selectExpr("id AS k", "rand(1) AS a", "rand(2) AS b").write.parquet(path)
    path
  }

  private lazy val numbers: FileSourceScanExec = scan(spark.read.parquet(path))

  private def scan(frame: DataFrame): FileSourceScanExec =
    collectFirst(frame.queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }.getOrElse(fail("no file scan"))

  private val AtOnce: Executor = _.run()

  private def rows(statistics: FooterStatistics): Option[Long] = statistics.of(numbers).flatMap(_.rows).map(_.rows)

  for (
    error <-
      Seq(new IOException("throttled"), new SecurityException("no permission"), new NoSuchMethodError("moved"), new OutOfMemoryError())
  )
    test(s"a ${error.getClass.getSimpleName} while a footer is read is retried by the next query") {
      val reads = new ConcurrentLinkedQueue[FileStatus]()
      def read(file: FileStatus, conf: Configuration, schema: StructType): FooterSummary = {
        val _ = reads.add(file)
        if (reads.size == 2) throw error
        ParquetFooter.summary(file, conf, schema)
      }
      val statistics = new FooterStatistics(_ => Some(read), AtOnce)
      assert(rows(statistics).isEmpty)
      assert(rows(statistics).exists(found => math.abs(found - Rows) <= Rows / 100))
      assert(reads.size == 8)
      assert(rows(statistics).isDefined && reads.size == 8, "footers that were read are kept")
    }

  test("a footer that is longer than the first read") {
    val long = folder.resolve("long_footers").toString
    val wide = (1 to 40).map(i => s"rand($i) AS c$i")
    spark.range(0, 20000, 1, 1).selectExpr("id AS k" +: wide: _*).write.option("parquet.block.size", "65536").parquet(long)
    val all = scan(spark.read.parquet(long))
    val file = all.relation.location.inputFiles.map(path => new RandomAccessFile(new java.net.URI(path).getPath, "r")).head
    val footerBytes =
      try { file.seek(file.length - 8); Integer.reverseBytes(file.readInt) }
      finally file.close()
    assert(footerBytes > (32 << 10))
    val before = Faults.count
    val found = new FooterStatistics(FooterSummary.reader, AtOnce).of(all)
    assert(found.flatMap(_.rows).map(_.rows).contains(20000L) && found.exists(_.ranges("k") == ((0L, 19999L))), found)
    assert(Faults.count == before)
  }

  test("a damaged file that gives its footer a large length is not read into memory") {
    val file = new RandomAccessFile(folder.resolve("long.parquet").toFile, "rw")
    try {
      val length = 100 << 20
      file.setLength(length + 100L)
      file.seek(length + 92L)
      file.writeInt(Integer.reverseBytes(length))
      file.writeBytes("PAR1")
    } finally file.close()
    val path = new Path(folder.resolve("long.parquet").toUri)
    val conf = new Configuration()
    val refused = intercept[IOException](ParquetTail.footer(path.getFileSystem(conf).getFileStatus(path), conf))
    assert(refused.getMessage.contains("has 104857612 bytes"), refused)
  }

  test("unreadable footers are one fault of their table; files that are slow or gone are none") {
    def faults(error: Throwable): Long = {
      val before = Faults.count
      val statistics = new FooterStatistics(_ => Some((_, _, _) => throw error), AtOnce)
      assert(rows(statistics).isEmpty && rows(statistics).isEmpty)
      Faults.count - before
    }
    assert(faults(new IOException("no footer")) == 1)
    assert(faults(new SocketTimeoutException("slow")) == 0 && faults(new FileNotFoundException("gone")) == 0)
  }

  test("without a free thread, no footer is read, and the next query tries again") {
    val queued = ArrayBuffer.empty[Runnable]
    var places = 2
    val crowded: Executor = task => {
      if (places == 0) throw new RejectedExecutionException("no place in the queue")
      places -= 1
      queued += task
    }
    val opened = new ConcurrentLinkedQueue[FileStatus]()
    def read(file: FileStatus, conf: Configuration, schema: StructType): FooterSummary = {
      val _ = opened.add(file)
      ParquetFooter.summary(file, conf, schema)
    }
    val statistics = new FooterStatistics(_ => Some(read), crowded)
    val startNanos = System.nanoTime()
    assert(rows(statistics).isEmpty)
    assert(System.nanoTime() - startNanos < 10000000000L)
    queued.foreach(_.run())
    assert(opened.isEmpty)
    places = 100
    queued.clear()
    statistics.begin(numbers)
    assert(queued.size == 4)
    queued.foreach(_.run())
    assert(rows(statistics).isDefined)
    assert(opened.asScala.map(_.getPath).toSet.size == 4)
  }

  test("footers are opened with the options of the read") {
    val seen = new ConcurrentLinkedQueue[String]()
    def read(file: FileStatus, conf: Configuration, schema: StructType): FooterSummary = {
      val _ = seen.add(conf.get("fs.test.credential", "none"))
      ParquetFooter.summary(file, conf, schema)
    }
    val statistics = new FooterStatistics(_ => Some(read), AtOnce)
    assert(statistics.of(scan(spark.read.option("fs.test.credential", "secret").parquet(path))).isDefined)
    assert(seen.asScala.toSet == Set("secret"))
  }

  /** The ranges of a table with a column `at` of this type, one value a minute from midnight of 2026-03-01 in UTC, as `schema` reads it. */
  private def rangesOfTimes(name: String, writes: String, columnType: String, schema: Option[String] = None): Map[String, (Long, Long)] = {
    val path = folder.resolve(name).toString
    withConf("spark.sql.parquet.outputTimestampType" -> writes, "spark.sql.session.timeZone" -> "UTC") {
      spark.range(0, Rows, 1, 2)
        .selectExpr(s"CAST(TIMESTAMP'2026-03-01' + id * INTERVAL '1' MINUTE AS $columnType) AS at", "rand(1) AS a", "rand(2) AS b")
        .write.parquet(path)
    }
    val frame = schema.fold(spark.read)(spark.read.schema(_)).parquet(path)
    new FooterStatistics(FooterSummary.reader, AtOnce).of(scan(frame)).getOrElse(fail("no facts")).ranges
  }

  private val FirstMicros = 1772323200000000L
  private val MinutesInMicros = (FirstMicros, FirstMicros + (Rows - 1) * 60000000L)

  test("the range of a timestamp is in microseconds, whatever unit the files have") {
    for (writes <- Seq("TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"); columnType <- Seq("TIMESTAMP", "TIMESTAMP_NTZ"))
      assert(rangesOfTimes(s"$writes-$columnType", writes, columnType)("at") == MinutesInMicros, s"$writes $columnType")
  }

  test("timestamps written as INT96 have no range, and neither have numbers that are read by another type than the files'") {
    assert(!rangesOfTimes("int96", "INT96", "TIMESTAMP").contains("at"))
    assert(!rangesOfTimes("as-number", "TIMESTAMP_MILLIS", "TIMESTAMP", schema = Some("at BIGINT, a DOUBLE, b DOUBLE")).contains("at"))
  }

  test("two readers of the same files by other types have the ranges of their own") {
    val path = folder.resolve("decimals").toString
    spark.range(0, Rows, 1, 2).selectExpr("CAST(id AS DECIMAL(9, 2)) AS d", "rand(1) AS a", "rand(2) AS b").write.parquet(path)
    val statistics = new FooterStatistics(FooterSummary.reader, AtOnce)
    def range(schema: String): Option[(Long, Long)] =
      statistics.of(scan(spark.read.schema(s"$schema, a DOUBLE, b DOUBLE").parquet(path))).flatMap(_.ranges.get("d"))
    assert(range("d DECIMAL(9, 2)").contains((0L, (Rows - 1) * 100)) && range("d DECIMAL(12, 4)").isEmpty)
  }

  test("the footers of ORC files give a table's rows") {
    val orc = folder.resolve("numbers-orc").toString
    spark.range(0, Rows, 1, 4).selectExpr("id AS k", "rand(1) AS a", "rand(2) AS b").write.orc(orc)
    val statistics = new FooterStatistics(FooterSummary.reader, AtOnce)
    val facts = statistics.of(scan(spark.read.orc(orc))).getOrElse(fail("no facts"))
    assert(facts.rows.exists(found => math.abs(found.rows - Rows) <= Rows / 100 && found.source == EstimateSource.Footers))
  }

  test("a table in the catalog has the same rows, whatever partitions a scan selects") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(
        s"CREATE TABLE parts USING parquet PARTITIONED BY (part) AS SELECT /*+ REPARTITION(1) */ id AS k, rand(1) AS a, rand(2) AS b, id % 8 AS part FROM range($Rows)"
      )
      Seq("SELECT * FROM parts", "SELECT * FROM parts WHERE part = 3", "SELECT * FROM parts WHERE part > 1 AND k > 5").foreach { query =>
        val facts = new FooterStatistics(FooterSummary.reader, AtOnce).of(scan(spark.sql(query))).getOrElse(fail("no facts"))
        assert(facts.rows.exists(found => math.abs(found.rows - Rows) <= Rows / 50 && found.source == EstimateSource.Footers), query)
        assert(facts.ranges.contains("k"), query)
      }
    }
  }

  test("folders that cannot be listed give no facts, are one fault, and the next query tries again") {
    val statistics = new FooterStatistics(FooterSummary.reader, AtOnce)
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE gone (k INT, part INT) USING parquet PARTITIONED BY (part)")
      val found = scan(spark.sql("SELECT * FROM gone"))
      val refused: Executor = _ => throw new IllegalStateException("no listing")
      val before = Faults.count
      val broken = new FooterStatistics(FooterSummary.reader, refused)
      assert(broken.of(found).isEmpty && broken.of(found).isEmpty && Faults.count == before + 1)
      val place = java.nio.file.Path.of(spark.sessionState.catalog.getTableMetadata(TableIdentifier("gone")).location)
      java.nio.file.Files.walk(place).sorted(java.util.Comparator.reverseOrder[java.nio.file.Path]()).forEach(java.nio.file.Files.delete(_))
      assert(statistics.of(found).isEmpty && statistics.of(found).isEmpty)
      assert(spark.sql("SELECT * FROM gone WHERE part = 3").count() == 0)
    }
  }

  test("a table's folders are listed once a minute, and not again while a listing goes on") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE slow USING parquet PARTITIONED BY (part) AS SELECT id AS k, id % 2 AS part FROM range(10)")
      val tasks = ArrayBuffer.empty[Runnable]
      var minutes = 0L
      val statistics = new FooterStatistics(FooterSummary.reader, tasks += _) {
        override protected def nowNanos: Long = minutes * 60000000001L
      }
      val slow = Seq("SELECT * FROM slow", "SELECT * FROM slow WHERE part = 0", "SELECT * FROM slow WHERE part = 1")
        .map(query => scan(spark.sql(query)))
      def begun(atMinute: Long): Int = {
        minutes = atMinute
        slow.foreach(statistics.begin)
        tasks.size
      }
      def bytes: Seq[Boolean] = slow.map(statistics.of(_).flatMap(_.bytes).exists(_ > 0))
      assert((0L to 3L).map(begun) == Seq(1, 1, 1, 1), "whatever partitions are selected")
      tasks.foreach(_.run())
      assert(bytes == Seq(true, true, true) && begun(atMinute = 3) == 1)
      assert(begun(atMinute = 4) == 2, "a new partition shows in a new listing")
      assert(bytes == Seq(true, true, true), "until it has ended, the earlier one serves")
    }
  }

  test("a file that is none of Parquet's, or damaged, is no fault of the plugin where limits look at it") {
    val path = new Path(folder.resolve("text.parquet").toUri)
    java.nio.file.Files.writeString(folder.resolve("text.parquet"), "no columns here, and no footer" * 10)
    val conf = new Configuration()
    val file = path.getFileSystem(conf).getFileStatus(path)
    val before = Faults.count
    val footers = FileFooters.of(isParquet = true)
    footers.load(Seq(file), Nil, conf, System.nanoTime() + 10000000000L)
    assert(footers.get(file, Nil).isEmpty && Faults.count == before)
    val _ = intercept[IOException](ParquetTail.footer(file, conf))
  }

  test("a table with too many folders is not listed again at once") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sparkContext.hadoopConfiguration.set("fs.listing.impl", classOf[ListingFileSystem].getName)
      spark.sql("CREATE TABLE crowded (k INT, part INT) USING parquet PARTITIONED BY (part) LOCATION 'listing:///crowded'")
      val statistics = new FooterStatistics(FooterSummary.reader, AtOnce)
      val crowded = scan(spark.sql("SELECT * FROM crowded"))
      ListingFileSystem.taken.set(0)
      ListingFileSystem.listed.set(0)
      assert(statistics.of(crowded).isEmpty && statistics.of(crowded).isEmpty)
      assert(ListingFileSystem.listed.get == 1)
    }
  }
}
