package io.aqeplugin.e2e

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.scalatest.Suite

import io.aqeplugin.storage.CountingFileSystem
import io.aqeplugin.tell.LimitDecided

/** Tables of many small files whose opening is counted, each file one split. */
trait LimitSession extends PluginSession { this: Suite =>

  override protected def applicationConf: Map[String, String] = Map(
    "spark.hadoop.fs.counting.impl" -> classOf[CountingFileSystem].getName,
    // A split is a file, as with large files.
    "spark.sql.files.maxPartitionBytes" -> "128m",
    "spark.sql.files.openCostInBytes" -> "128m",
    // Files that Spark orders by size would otherwise follow their order of writing.
    "spark.sql.parquet.compression.codec" -> "none",
    // However busy the machine is.
    "spark.aqePlugin.limit.footerTimeout" -> "60000",
    // Spark's default, INT96, has no statistics.
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS"
  )

  protected val FileRows = 100
  protected val Files = 20

  /** Registers `name`: file `i` has the ids from `i * FileRows` on; `c` is clustered by file, `u` is not, `n` has nulls. */
  protected def manyFiles(name: String, format: String = "parquet", partitioned: Boolean = false): Unit = {
    val path = s"counting://${folder.resolve(name)}"
    withConf("spark.aqePlugin.mode" -> "off") {
      val rows = spark.range(0, Files.toLong * FileRows, 1, Files).selectExpr(
        "id",
        "id AS c",
        "CAST(hash(id) % 1000 AS int) AS u",
        "CASE WHEN id % 10 = 0 THEN NULL ELSE id END AS n",
        "'name ' || id AS s",
        "date_add(DATE'2000-01-01', CAST(id / 10 AS int)) AS d",
        "TIMESTAMP'2000-01-01 00:00:00' + make_dt_interval(0, CAST(id AS int)) AS ts",
        "CAST(id / 150 AS smallint) AS w",
        s"CAST(id / ${FileRows * 5} AS int) AS p"
      )
      val writer = rows.write.format(format)
      (if (partitioned) writer.partitionBy("p") else writer).save(path)
    }
    spark.read.format(format).load(path).createOrReplaceTempView(name)
  }

  /** Runs a query with the plugin, and counts the files that tasks open. */
  protected def limited(query: => DataFrame): LimitRan = {
    // Before it counts: the tasks of an earlier job may not have been told yet.
    drain()
    val finished = new TaskCounter
    spark.sparkContext.addSparkListener(finished)
    try {
      CountingFileSystem.reset()
      val mark = events.mark()
      val frame = query
      val rows = frame.collect()
      drain()
      val seen = events.since(mark).collect { case e: LimitDecided => e }
      LimitRan(rows.toSeq, frame, seen, CountingFileSystem.byTasks.size, CountingFileSystem.byDriver.size, finished.tasks)
    } finally spark.sparkContext.removeSparkListener(finished)
  }

  protected def plainly(query: => DataFrame): LimitRan = withConf("spark.aqePlugin.mode" -> "off")(limited(query))

  protected def scans(ran: LimitRan): Seq[FileSourceScanExec] =
    collectWithSubqueries(ran.frame.queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }
}

/** One query with a limit. */
final case class LimitRan(rows: Seq[Row], frame: DataFrame, limits: Seq[LimitDecided], opened: Int, footers: Int, tasks: Int) {
  def choices: Seq[String] = limits.map(_.decision.path("choice").asText)
  def reasons: Seq[String] = limits.map(_.decision.path("reason").path("code").asText)
  def rowsRead: Seq[Long] = limits.map(_.outcome.path("rowsRead").asLong)
  def plan: String = frame.queryExecution.executedPlan.toString
}

final class TaskCounter extends SparkListener {
  @volatile private var ended = 0
  def tasks: Int = ended
  override def onTaskEnd(end: SparkListenerTaskEnd): Unit = ended += 1
}
