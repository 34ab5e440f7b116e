package io.aqeplugin.e2e

import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent, SparkListenerJobEnd, SparkListenerJobStart}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.scalatest.{Assertions, BeforeAndAfterAll, Suite}

import io.aqeplugin.exec.RuntimeFilterExec
import io.aqeplugin.tell.{JoinDecided, LimitDecided, PredicateInferred, QueryEnded}

/** One local Spark application per suite, with the plugin switched on as users do it: only by `spark.plugins`. */
trait PluginSession extends BeforeAndAfterAll with NeedsSession with AdaptiveSparkPlanHelper with Assertions { this: Suite =>

  /** Conf of the application in addition to the shared one. */
  protected def applicationConf: Map[String, String] = Map.empty

  protected lazy val folder: Path = Files.createTempDirectory("aqe-plugin-test")

  protected lazy val events = new EventBuffer

  protected lazy val spark: SparkSession = {
    SparkSession.clearActiveSession()
    SparkSession.clearDefaultSession()
    val conf = PluginSession.SharedConf ++ Map("spark.sql.warehouse.dir" -> folder.resolve("warehouse").toString) ++ applicationConf
    // As in spark-submit: confs given to a session's builder would belong to the session and override the application's conf.
    val context = SparkContext.getOrCreate(new SparkConf().setAll(conf))
    val session = SparkSession.builder().getOrCreate()
    require(session.sparkContext eq context, "another application is still running")
    session.sparkContext.setLogLevel("ERROR")
    session.sparkContext.addSparkListener(events)
    session
  }

  override protected def afterAll(): Unit =
    try {
      spark.stop()
      SparkSession.clearActiveSession()
      SparkSession.clearDefaultSession()
      PluginSession.delete(folder)
    } finally super.afterAll()

  /** Runs `body` with the given conf and restores the old one. */
  protected def withConf[A](pairs: (String, String)*)(body: => A): A = withConfOf(spark)(pairs: _*)(body)

  protected def withConfOf[A](session: SparkSession)(pairs: (String, String)*)(body: => A): A = {
    val before = pairs.map { case (key, _) => key -> session.conf.getOption(key) }
    pairs.foreach { case (key, value) => session.conf.set(key, value) }
    try body
    finally before.foreach {
        case (key, Some(value)) => session.conf.set(key, value)
        case (key, None)        => session.conf.unset(key)
      }
  }

  /** Rows as sorted text: equal for equal multisets. */
  protected def multiset(frame: DataFrame): Seq[String] = frame.collect().map(PluginSession.text).toSeq.sorted

  /** The rows without the plugin, as Spark finds them in the shortest time. */
  protected def withoutPlugin(query: => DataFrame): Seq[String] = withConf(PluginSession.OfSparkAlone: _*)(multiset(query))

  /** Runs a query with open gates and checks what must hold for every query: no fault, and every planned filter applied. */
  protected def withPlugin(query: => DataFrame): Ran = withConf("spark.aqePlugin.test.openGates" -> "true")(ran(query))

  /** Runs a query with the present conf. */
  protected def ran(query: => DataFrame): Ran = {
    drain()
    val mark = events.mark()
    val frame = query
    val rows = multiset(frame)
    drain()
    val seen = events.since(mark)
    val result = Ran(
      rows,
      frame.queryExecution.executedPlan,
      seen.collect { case e: JoinDecided => e },
      seen.collect { case e: QueryEnded => e },
      seen
    )
    assert(result.ended.forall(_.errors == 0), s"a fault of the plugin in\n${result.plan}")
    assert(result.ended.forall(e => e.planned == e.applied), s"a filter was planned but not applied in\n${result.plan}")
    val told = result.decided.filter(_.decision.get("buildFilter").asBoolean).map(d => d.executionId -> joinIdOf(d.decision.get("facts")))
    val unseen = result.ended.flatMap(e => e.outcomes.elements().asScala.map(e.executionId -> joinIdOf(_))).filterNot(told.contains)
    assert(unseen.isEmpty, s"filters ran whose decision says that there is none in\n${result.plan}")
    result
  }

  private def joinIdOf(node: JsonNode): String = node.get("joinId").textValue

  /** Runs a query without and with the plugin and requires the same rows. */
  protected def sameRows(query: => DataFrame): Ran = {
    val expected = withoutPlugin(query)
    val result = withPlugin(query)
    assert(result.rows == expected, s"the plugin changed the rows of\n${result.plan}")
    result
  }

  protected def filters(plan: SparkPlan): Seq[RuntimeFilterExec] = collectWithSubqueries(plan) { case f: RuntimeFilterExec => f }

  /** `table(column)` for every filter of the plan that rows were checked by, sorted. A filter that was placed may yet pass every row. */
  protected def filtered(ran: Ran): Seq[String] = {
    val built = filters(ran.plan).flatMap(_.outcomes).filterNot(_.passesAll).map(_.filterId).toSet
    filters(ran.plan).flatMap(_.labels).filter(label => built(label.filterId))
      .map(label => s"${label.table}(${label.columns.mkString(",")})").distinct.sorted
  }

  /** The outcome of each filter of a query. */
  protected def outcomes(ran: Ran): Seq[JsonNode] = ran.ended.flatMap(_.outcomes.elements().asScala)

  protected def drain(): Unit = SparkBridge.drainEvents(spark.sparkContext, 30000L)

  /** Writes a query's rows as a table of files and registers it under `name`. */
  protected def table(name: String, query: String, format: String = "parquet", files: Int = 1): Unit = {
    val path = folder.resolve(s"$format-$name").toString
    val frame = withConf("spark.aqePlugin.mode" -> "off") {
      val frame = spark.sql(query)
      // One file needs no shuffle.
      (if (files == 1) frame.coalesce(1) else frame.repartition(files)).write.mode("overwrite").format(format).save(path)
      frame
    }
    spark.read.schema(frame.schema).format(format).load(path).createOrReplaceTempView(name)
  }

  /** The files of a table that has no partitions. */
  protected def dataFiles(path: Path): Seq[Path] =
    Using.resource(Files.list(path))(_.iterator.asScala.filter(_.getFileName.toString.startsWith("part-")).toVector.sorted)
}

/** One query that was run with the plugin. */
final case class Ran(
    rows: Seq[String],
    plan: SparkPlan,
    decided: Seq[JoinDecided],
    ended: Seq[QueryEnded],
    events: Seq[SparkListenerEvent]
) {
  def predicates: Seq[PredicateInferred] = events.collect { case e: PredicateInferred => e }
  def limits: Seq[LimitDecided] = events.collect { case e: LimitDecided => e }
  def jobs: Int = events.count(_.isInstanceOf[SparkListenerJobStart])
}

object PluginSession {
  val SharedConf: Map[String, String] = Map(
    LocalFiles.Conf,
    "spark.master" -> "local[2]",
    "spark.app.name" -> "aqe-plugin-tests",
    "spark.ui.enabled" -> "false",
    "spark.plugins" -> "io.aqeplugin.AqePlugin",
    // The tables of tests are small.
    "spark.aqePlugin.cost.lookNanosPerJoin" -> "0",
    "spark.sql.shuffle.partitions" -> "4",
    "spark.default.parallelism" -> "2",
    "spark.sql.session.timeZone" -> "UTC",
    // Several batches per file: some lose all their rows, some lose a part and some lose none.
    "spark.sql.parquet.columnarReaderBatchSize" -> "64",
    "spark.sql.orc.columnarReaderBatchSize" -> "64"
  )

  /** Spark alone, of which a comparison needs the rows. Of few rows, compiling a plan and planning it anew take the most time; the query
    * that is compared with them does both.
    */
  private val OfSparkAlone: Seq[(String, String)] = Seq(
    "spark.aqePlugin.mode" -> "off",
    "spark.sql.adaptive.enabled" -> "false",
    "spark.sql.shuffle.partitions" -> "1",
    "spark.sql.codegen.wholeStage" -> "false",
    "spark.sql.codegen.factoryMode" -> "NO_CODEGEN"
  )

  private def text(value: Any): String = value match {
    case row: Row           => row.toSeq.map(text).mkString("[", ", ", "]")
    case bytes: Array[Byte] => bytes.mkString("bytes(", " ", ")")
    case other              => String.valueOf(other)
  }

  private def delete(path: Path): Unit = {
    val paths = Files.walk(path)
    try paths.sorted(java.util.Comparator.reverseOrder[Path]()).forEach { p =>
        val _ = Files.deleteIfExists(p)
      }
    finally paths.close()
  }
}

/** Collects the events that tests read, in order. */
final class EventBuffer extends SparkListener {
  private val seen = new ConcurrentLinkedQueue[SparkListenerEvent]()

  override def onJobStart(start: SparkListenerJobStart): Unit = { val _ = seen.add(start) }
  override def onJobEnd(end: SparkListenerJobEnd): Unit = { val _ = seen.add(end) }
  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case _: JoinDecided | _: LimitDecided | _: PredicateInferred | _: QueryEnded =>
      val _ = seen.add(event)
    case _ =>
  }

  def mark(): Int = seen.size
  def since(mark: Int): Seq[SparkListenerEvent] = seen.asScala.toSeq.drop(mark)
}
