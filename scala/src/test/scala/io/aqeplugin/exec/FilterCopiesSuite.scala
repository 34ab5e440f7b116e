package io.aqeplugin.exec

import java.util.concurrent.ThreadPoolExecutor

import org.apache.logging.log4j.Level
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.tell.CapturedLog

/** How long the executors hold a filter. A local application has none, so Spark's own log has to say what they are asked to drop. */
class FilterCopiesSuite extends AnyFunSuite with PluginSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id, CAST(id % 100 AS int) AS k FROM range(1000)")
    table("dims", "SELECT CAST(id AS int) AS k, id AS d FROM range(100)")
  }

  private def broadcastIds(plan: SparkPlan): Seq[Long] = collect(plan) { case stage: BroadcastQueryStageExec => stage.broadcast }.collect {
    case exchange: RuntimeFilterExchangeExec => exchange.executeBroadcast[Array[Byte]]().id
  }.distinct

  private def finishedTasks: Long = FilterBuildThreads.pool match {
    case pool: ThreadPoolExecutor => pool.getCompletedTaskCount
    case other                    => fail(s"unknown pool $other")
  }

  test("executors drop a filter when its query has ended, though its DataFrame is kept and can run again") {
    val query = "SELECT f.id FROM facts f JOIN dims d ON f.k = d.k WHERE d.d < 10"
    val expected = withoutPlugin(spark.sql(query))
    val before = finishedTasks
    val (lines, (frame, ids)) = CapturedLog.during(Level.DEBUG, "org.apache.spark.broadcast") {
      val frame = spark.sql(query)
      assert(withPlugin(frame).rows == expected)
      val ids = broadcastIds(frame.queryExecution.executedPlan)
      // Each filter is built by one task and dropped by another.
      eventually(timeout(Span(30, Seconds)))(assert(finishedTasks >= before + 2 * ids.size))
      (frame, ids)
    }
    assert(ids.nonEmpty && ids.forall(id => lines.exists(_.endsWith(s"Unpersisting TorrentBroadcast $id"))), lines)
    assert(multiset(frame) == expected)
  }
}
