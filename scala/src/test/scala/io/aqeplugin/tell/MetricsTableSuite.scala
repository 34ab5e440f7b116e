package io.aqeplugin.tell

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.{functions, AnalysisException, Column}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.Strategy
import io.aqeplugin.e2e.PluginSession

class MetricsTableSuite extends AnyFunSuite with PluginSession {

  private lazy val eventLog: Path = Files.createDirectories(folder.resolve("events"))

  override protected def applicationConf: Map[String, String] = Map(
    "spark.eventLog.enabled" -> "true",
    "spark.eventLog.dir" -> eventLog.toUri.toString,
    "spark.eventLog.compress" -> "false"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v FROM range(3000)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id AS int) AS dv FROM range(4)")
  }

  private def counts(): Map[String, Long] =
    spark.sql("SELECT name, value FROM aqe_metrics()").collect().map(row => row.getString(0) -> row.getLong(1)).toMap

  private def decisions(counts: Map[String, Long]): Long = Strategy.All.map(strategy => counts(s"decisions.${strategy.name}")).sum

  private def hasTagLike(tag: String): Column = functions.exists(functions.col("job_tags"), _.contains(tag))

  /** A slow listener before ours in the queue, as on a busy driver. */
  private object Slow extends SparkListener {
    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case _: SparkListenerSQLExecutionEnd => Thread.sleep(500)
      case _                               =>
    }
  }

  test("the table has every driver metric once, with its unit") {
    val rows = spark.sql("SELECT name, unit FROM aqe_metrics()").collect().map(row => row.getString(0) -> row.getString(1)).toSeq
    assert(rows == DecisionMetrics.All.flatMap(family => family.metrics.map(_._1 -> family.unit)))
    assert(rows.distinct == rows)
  }

  test("a finished query is counted, and in aqe_decisions(), at once") {
    spark.sparkContext.addSparkListener(Slow)
    try {
      val before = counts()
      spark.addTag("seen at once")
      try spark.sql("SELECT * FROM fact JOIN dim ON k = dk").collect()
      finally spark.removeTag("seen at once")
      assert(decisions(counts()) == decisions(before) + 1)
      val mine = spark.sql("SELECT * FROM aqe_decisions()").where(hasTagLike("seen at once")).collect()
      assert(mine.map(_.getAs[String]("query_status")).toSeq == Seq("succeeded"))
      assert(mine.forall(_.getAs[Long]("query_rule_millis") >= 0))
    } finally spark.sparkContext.removeSparkListener(Slow)
  }

  test("a tag belongs to its own session") {
    spark.addTag("mine")
    try spark.newSession().sql("SELECT 1 FROM range(5) a JOIN range(5) b ON a.id = b.id").collect()
    finally spark.removeTag("mine")
    counts()
    assert(spark.sql("SELECT * FROM aqe_decisions()").where(hasTagLike("mine")).isEmpty)
  }

  private def isLog(path: Path): Boolean = Files.isRegularFile(path) && !path.toString.endsWith(".crc")

  test("reading the table leaves no trace in the event log") {
    counts()
    drain()
    val lines = Files.walk(eventLog).iterator().asScala.filter(isLog).flatMap(Files.readAllLines(_).asScala).toSeq
    assert(lines.nonEmpty)
    assert(!lines.exists(_.contains("EndsSeen")))
  }

  test("aqe_metrics accepts no arguments") {
    val error = intercept[AnalysisException](spark.sql("SELECT * FROM aqe_metrics(1)"))
    assert(error.getMessage.contains("`aqe_metrics` requires 0 parameters but the actual number is 1"))
  }
}
