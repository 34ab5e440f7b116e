package io.aqeplugin.e2e

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration.{Duration, SECONDS}
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar.convertIntToGrainOfTime

/** Queries that run at once have one budget for the broadcasts that the plugin adds. */
class MemoryBudgetSuite extends AnyFunSuite with PluginSession {

  // Spark broadcasts nothing by itself, and a broadcast is worth its wait.
  private val Conf = Seq(
    "spark.sql.autoBroadcastJoinThreshold" -> "100",
    "spark.aqePlugin.filter.maxPassRate" -> "0",
    "spark.aqePlugin.cost.shuffleNanosPerRow" -> "1000000"
  )
  private val MaxShare = "spark.aqePlugin.memory.maxShare"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id, id % 2000 AS k FROM range(20000)")
    table("dim", "SELECT id AS k, concat('d', id) AS name FROM range(2000)")
    table("texts", "SELECT id, concat('d', id % 2000) AS name FROM range(20000)")
    spark.udf.register("held", (value: Long) => { MemoryBudgetSuite.pass(); value })
    ()
  }

  private def query: DataFrame = spark.sql("SELECT held(f.id) AS id, d.name FROM fact f JOIN dim d ON f.k = d.k WHERE d.name < 'd5'")

  private def isBroadcast(ran: Ran): Boolean = collectWithSubqueries(ran.plan) { case join: BroadcastHashJoinExec => join }.nonEmpty

  /** The memory that a broadcast of the query would have had in sum, and the limit; from the reason against it. */
  private def overBudget(ran: Ran): Option[(Double, Double)] =
    ran.decided.flatMap(_.decision.path("options").elements().asScala).collectFirst {
      case option if option.path("reason").path("code").asText == "MEMORY_BUDGET" =>
        (option.path("reason").path("measured").asDouble, option.path("reason").path("limit").asDouble)
    }

  test("a query gets no broadcast beside another one that holds the budget, and gets it once that one has ended") {
    withConf(Conf: _*) {
      MemoryBudgetSuite.gate.set(new CountDownLatch(0))
      val expected = withoutPlugin(query)
      val needed = withConf(MaxShare -> "0")(overBudget(ran(query))).getOrElse(fail("no reason names the budget"))._1
      val heapBytes =
        withConf(MaxShare -> "1e-3")(ran(query)).decided.head.decision.path("facts").path("memory").path("limitBytes").asDouble * 1e3
      withConf(MaxShare -> (1.2 * needed / heapBytes).toString) {
        val gate = new CountDownLatch(1)
        MemoryBudgetSuite.gate.set(gate)
        val first = Future(multiset(query))(ExecutionContext.global)
        val beside =
          try {
            eventually(timeout(30.seconds))(assert(MemoryBudgetSuite.waiting.get > 0))
            MemoryBudgetSuite.gate.set(new CountDownLatch(0))
            ran(query)
          } finally gate.countDown()
        assert(Await.result(first, Duration(60, SECONDS)) == expected && beside.rows == expected)
        assert(
          !isBroadcast(beside) && overBudget(beside).exists { case (held, limit) => held > limit && held > needed },
          beside.decided
        )
        drain()
        val after = ran(query)
        assert(isBroadcast(after) && after.rows == expected, after.plan)
      }
    }
  }

  test("a broadcast that Spark would refuse for its pages, whatever they hold, is sorted, and books its pages") {
    def texts: DataFrame = spark.sql("SELECT t.id, d.k FROM texts t JOIN dim d ON t.name = d.name WHERE d.name < 'd5'")
    val pageBytes = SparkBridge.pageBytes(spark.sparkContext)
    withConf(Conf: _*) {
      val expected = withoutPlugin(texts)
      assert(withConf(MaxShare -> "0")(overBudget(ran(texts))).exists(_._1 > pageBytes.toDouble))
      withConf("spark.sql.maxBroadcastTableSize" -> s"${pageBytes}b", MaxShare -> "1") {
        val refused = ran(texts)
        assert(refused.rows == expected && !isBroadcast(refused), refused.plan)
        assert(refused.decided.exists(_.decision.toString.contains("\"spark.sql.maxBroadcastTableSize\"")), refused.decided)
      }
      withConf("spark.sql.maxBroadcastTableSize" -> "8g", MaxShare -> "1") {
        val made = ran(texts)
        assert(made.rows == expected && isBroadcast(made), made.plan)
      }
    }
  }
}

object MemoryBudgetSuite {

  /** What the rows of a query wait for. */
  val gate: AtomicReference[CountDownLatch] = new AtomicReference(new CountDownLatch(0))
  val waiting = new AtomicInteger

  def pass(): Unit = {
    val closed = gate.get
    if (closed.getCount > 0) { val _ = waiting.incrementAndGet() }
    val _ = closed.await(60, TimeUnit.SECONDS)
  }
}
