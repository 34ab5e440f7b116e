package io.aqeplugin.e2e

import java.util.concurrent.atomic.AtomicLong

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar.convertIntToGrainOfTime

import io.aqeplugin.observe.ClusterSize

/** Waits that take longer than predicted. */
class WaitClockSuite extends AnyFunSuite with PluginSession {

  // Filters are worth 0.4 s or so; nothing is broadcast.
  private val Conf = Seq(
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1",
    "spark.aqePlugin.broadcast.maxRows" -> "0",
    "spark.aqePlugin.filter.minProbeRows" -> "0",
    "spark.aqePlugin.cost.rowPipelineNanosPerRow" -> "10000",
    "spark.aqePlugin.wait.checkAfter" -> "100"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id, CAST(id % 1000 AS int) AS k FROM range(200000)", files = 2)
    table("one_file", "SELECT CAST(id AS int) AS k, id AS d FROM range(1000)")
    table("two_files", "SELECT CAST(id AS int) AS k, id AS d FROM range(1000)", files = 2)
    spark.udf.register("slowly", (value: Long) => { Thread.sleep(WaitClockSuite.SleepMillis.get); value < 40 })
    ()
  }

  private def query(dims: String): DataFrame =
    spark.sql(s"SELECT f.id, d.d FROM facts f JOIN $dims d ON f.k = d.k WHERE d.d < 40 AND slowly(d.d)")

  private def run(dims: String, sleepMillis: Long, conf: (String, String)*): Ran = withConf(Conf ++ conf: _*) {
    WaitClockSuite.SleepMillis.set(0)
    val expected = withoutPlugin(query(dims))
    WaitClockSuite.SleepMillis.set(sleepMillis)
    val result = ran(query(dims))
    assert(result.rows == expected)
    result
  }

  private def waitOf(ran: Ran): JsonNode =
    ran.decided.headOption.getOrElse(fail(s"no decision in\n${ran.plan}")).decision.path("facts").path("waiting")

  private def reasonOf(wait: JsonNode): (String, String) =
    (wait.path("reason").path("code").asText, wait.path("reason").path("confKey").asText)

  test("a build side that ends as predicted is waited for, and its wait has an outcome") {
    val ran = run("one_file", sleepMillis = 0)
    val wait = waitOf(ran)
    assert(filtered(ran) == Seq("parquet-facts(k)") && wait.path("waits").asBoolean, wait)
    assert(wait.path("outcome").asText == "used" && wait.path("waitedMillis").asDouble > 0, wait)
  }

  test("a probe side starts when its build side leaves slots idle for longer than it would save") {
    val ran = run("one_file", sleepMillis = 150)
    val wait = waitOf(ran)
    assert(filtered(ran).isEmpty && !wait.path("waits").asBoolean, wait)
    assert(reasonOf(wait) == ("WAIT_RELEASED" -> "spark.aqePlugin.wait.savingShare"), wait)
    assert(wait.path("outcome").asText == "released", wait)
    // The first check comes after half of `wait.checkAfter` at the soonest, and a second look that long after it.
    assert(wait.path("waitedMillis").asDouble > 150 && wait.path("waitedMillis").asDouble < 5000, wait)
  }

  test("a wait goes on while its build side uses all slots") {
    val ran = run("two_files", sleepMillis = 100)
    val wait = waitOf(ran)
    assert(filtered(ran) == Seq("parquet-facts(k)") && wait.path("outcome").asText == "used", wait)
    assert(wait.path("waitedMillis").asDouble > 1000, wait)
  }

  test("slots that another query uses are not idle for a wait") {
    withConf(Conf: _*) {
      WaitClockSuite.SleepMillis.set(0)
      val expected = withoutPlugin(query("one_file"))
      val slots = ClusterSize.of(spark.sparkContext).slots
      val other = new Thread(() => spark.sparkContext.parallelize(1 to slots, slots).foreach(_ => Thread.sleep(2000)))
      def idleMillis(ran: Ran): Double = waitOf(ran).path("idleMillis").asDouble
      val alone = ran(query("one_file"))
      other.start()
      eventually(timeout(30.seconds))(assert(SparkBridge.runningTasks(spark.sparkContext).contains(slots)))
      val beside = ran(query("one_file"))
      other.join()
      assert(beside.rows == expected && idleMillis(beside) < idleMillis(alone), waitOf(beside))
    }
  }

  test("no probe side waits longer than wait.limit") {
    val ran = run("two_files", sleepMillis = 100, "spark.aqePlugin.wait.limit" -> "200")
    assert(filtered(ran).isEmpty)
    assert(reasonOf(waitOf(ran)) == ("WAIT_RELEASED" -> "spark.aqePlugin.wait.limit"), waitOf(ran))
  }

  test("a clock that ends together with the build side changes no rows, and the wait is either released or used") {
    val ends = (0 to 12).map { i =>
      val limit = if (i == 12) 10000 else 20 + 20 * i
      val ran = run("one_file", sleepMillis = i % 4, "spark.aqePlugin.wait.checkAfter" -> "10", "spark.aqePlugin.wait.limit" -> s"$limit")
      val wait = waitOf(ran)
      val outcome = wait.path("outcome").asText
      assert(ran.decided.size == 1, "a join is recorded once, whichever comes first")
      // A wait that was released has the reason of its release and no filter in the plan; a used one has both of its own.
      val isReleased = outcome == "released"
      assert(wait.path("waits").asBoolean != isReleased && (reasonOf(wait)._1 == "WAIT_RELEASED") == isReleased, wait)
      assert(filtered(ran) == (if (isReleased) Nil else Seq("parquet-facts(k)")) && outcomes(ran).isEmpty == isReleased, ran.plan)
      outcome
    }
    assert(ends.toSet == Set("released", "used"), ends)
  }

  test("every other scan keeps its filter when one wait is released") {
    withConf(Conf: _*) {
      def both: DataFrame = spark.sql(
        """SELECT f.id FROM facts f JOIN one_file d ON f.k = d.k JOIN two_files e ON f.id = e.k
          |WHERE d.d < 40 AND slowly(d.d) AND e.d < 100""".stripMargin
      )
      WaitClockSuite.SleepMillis.set(0)
      val expected = withoutPlugin(both)
      WaitClockSuite.SleepMillis.set(150)
      val result = ran(both)
      assert(result.rows == expected && filtered(result) == Seq("parquet-facts(id)"), result.plan)
    }
  }
}

object WaitClockSuite {
  private val SleepMillis = new AtomicLong()
}
