package io.aqeplugin.exec

import java.util.concurrent.CountDownLatch

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.expressions.{Expression, ScalaUDF}
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition
import org.apache.spark.sql.types.LongType
import org.scalatest.Assertion
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide.ReasonCode
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.filters.FilterLimits
import io.aqeplugin.metrics.Faults
import io.aqeplugin.observe.{ClusterSize, QueryStates}

/** Filters whose build fails or does not begin. */
class BuildFaultsSuite extends AnyFunSuite with PluginSession {

  private val ExecutionId = Long.MaxValue

  /** The keys belong to a different plan than the build side. */
  private def buildOfStrangeKeys: RuntimeFilterExchangeExec = {
    def scan: SparkPlan = spark.range(10).queryExecution.sparkPlan
    val shuffle = ShuffleExchangeExec(SinglePartition, scan)
    val stage = ShuffleQueryStageExec(0, shuffle, shuffle.canonicalized)
    RuntimeFilterExchangeExec(
      scan.output,
      stage,
      BuildLimits(FilterLimits(Long.MaxValue, 100, 1L << 20, 0.01), 10, 30000L, 5000L, 0),
      "the join"
    )
  }

  test("a failed build passes all rows and counts as an error of its query") {
    val state = QueryStates.of(ExecutionId)
    val faults = Faults.count
    spark.sparkContext.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, ExecutionId.toString)
    try {
      val exchange = buildOfStrangeKeys
      assert(exchange.executeBroadcast[Any]() != null)
      eventually(timeout(Span(10, Seconds)))(assert(exchange.result.exists(_.left.exists(_.code == ReasonCode.BuildFailed))))
      assert(state.errors.sum() == 1 && Faults.count == faults + 1)
    } finally {
      spark.sparkContext.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, null)
      val _ = QueryStates.remove(ExecutionId)
    }
  }

  test("a build that is cancelled while it waits for a thread ends when it gets one") {
    val busy = new CountDownLatch(1)
    val begun = new CountDownLatch(FilterBuildThreads.MaxBuilds)
    (1 to FilterBuildThreads.MaxBuilds).foreach(_ => FilterBuildThreads.pool.execute { () => begun.countDown(); busy.await() })
    val exchange = buildOfStrangeKeys
    val built =
      try {
        begun.await()
        val job = exchange.submitBroadcastJob()
        exchange.relationFuture.cancel(true)
        job
      } finally busy.countDown()
    eventually(timeout(Span(10, Seconds)))(assert(built.isCompleted))
    assert(exchange.result.isEmpty)
  }

  /** The filter of a join's finished build side, two rows, to be built by a job from `keys` of its key. */
  private def ofJob(slotMillis: Long)(keys: Expression => Expression): RuntimeFilterExchangeExec = {
    table("fact", "SELECT id AS f FROM range(300)")
    table("dim", "SELECT id AS k FROM range(2)")
    val conf = Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.sketch.maxKeys" -> "0")
    val ran = withConf(conf: _*)(withPlugin(spark.sql("SELECT * FROM fact JOIN dim ON f = k")))
    val built =
      filters(ran.plan).flatMap(_.sources).flatMap(FilterSource.exchange(_)).headOption.getOrElse(fail(s"no filter in\n${ran.plan}"))
    built.copy(keys = built.keys.map(keys), limits = built.limits.copy(slotMillis = slotMillis))
  }

  /** Runs `body` while another job has all slots. */
  private def withBusySlots(body: => Assertion): Assertion = {
    val context = spark.sparkContext
    val slots = ClusterSize.of(context).slots
    context.setInterruptOnCancel(true)
    val other = context.parallelize(1 to slots, slots).foreachAsync(_ => Thread.sleep(60000))
    try {
      eventually(timeout(Span(30, Seconds)))(assert(SparkBridge.runningTasks(context).contains(slots)))
      body
    } finally {
      other.cancel()
      val _ = eventually(timeout(Span(30, Seconds)))(assert(SparkBridge.runningTasks(context).contains(0)))
    }
  }

  test("a filter whose job gets no slot passes all rows after filter.slotTimeout, and once only") {
    val exchange = ofJob(slotMillis = 2000)(identity)
    val _ = withBusySlots {
      assert(exchange.executeBroadcast[Any]() != null)
      val reason = exchange.result.flatMap(_.left.toOption).getOrElse(fail(s"not given up: ${exchange.result}"))
      assert(
        reason.code == ReasonCode.BuildTimeout && reason.limit.contains(2000.0) && reason.confKey == AqeConf.FilterSlotTimeout.key,
        reason
      )
      assert(reason.measured.exists(millis => millis >= 2000 && millis < 12000), reason)
      eventually(timeout(Span(10, Seconds)))(assert(SparkBridge.startedTasks(spark.sparkContext, exchange.jobTag).isEmpty))
    }
    assert(exchange.result.exists(_.isLeft), "a job that was given up published a filter")
  }

  test("a filter whose job gets a slot in time is built") {
    val exchange = ofJob(slotMillis = 20000)(identity)
    val _ = withBusySlots {
      exchange.prepare()
      eventually(timeout(Span(10, Seconds)))(assert(SparkBridge.startedTasks(spark.sparkContext, exchange.jobTag).contains(0)))
    }
    assert(exchange.executeBroadcast[Any]() != null)
    assert(exchange.result.exists(_.exists(_.rows == 2)), exchange.result)
  }

  test("a filter whose job has begun has its whole time") {
    val exchange = ofJob(slotMillis = 2000) { key =>
      ScalaUDF((value: Long) => { Thread.sleep(2200); value }, LongType, Seq(key))
    }
    assert(exchange.executeBroadcast[Any]() != null)
    assert(
      exchange.result.exists(_.exists(filter => filter.rows == 2 && filter.buildMillis > exchange.limits.slotMillis)),
      exchange.result
    )
  }
}
