package io.aqeplugin.exec

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.execution.SQLExecution
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.observe.QueryStates

class WaitClockExecSuite extends AnyFunSuite with PluginSession {

  test("a clock rings when its query ends, so that a plan that runs again does not wait for it") {
    val id = Long.MaxValue
    spark.sparkContext.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, id.toString)
    try {
      val state = QueryStates.of(id)
      val clock = WaitClockExec(System.nanoTime() + TimeUnit.HOURS.toNanos(1))
      assert(!clock.relationFuture.isDone)
      assert(state.end())
      assert(clock.relationFuture.isDone)
    } finally {
      spark.sparkContext.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, null)
      val _ = QueryStates.remove(id)
    }
  }
}
