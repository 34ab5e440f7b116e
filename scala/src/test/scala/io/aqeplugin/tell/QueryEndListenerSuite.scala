package io.aqeplugin.tell

import java.util.Properties

import scala.annotation.nowarn
import scala.collection.mutable

import org.apache.spark.scheduler.{AccumulableInfo, SparkListenerStageCompleted, SparkListenerStageSubmitted, StageInfo}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.observe.QueryStates

class QueryEndListenerSuite extends AnyFunSuite with PluginSession {

  @nowarn("cat=deprecation") // a map of Spark's that fails as a method that is not there does
  private def stage(id: Int, metrics: => mutable.Set[Long] = mutable.Set.empty): StageInfo =
    new StageInfo(id, 0, s"stage $id", 1, Nil, Nil, "", resourceProfileId = 0) {
      override val accumulables: mutable.HashMap[Long, AccumulableInfo] = new mutable.HashMap[Long, AccumulableInfo] {
        override def keySet: mutable.Set[Long] = metrics
      }
    }

  private def submitted(stage: StageInfo, executionId: Long): SparkListenerStageSubmitted = {
    val properties = new Properties
    properties.setProperty(SQLExecution.EXECUTION_ID_KEY, executionId.toString)
    SparkListenerStageSubmitted(stage, properties)
  }

  test("a method that this Spark has not got costs a measurement, and not the listener queue, whose end is the application's") {
    val listener = new QueryEndListener(spark.sparkContext)
    val state = QueryStates.of(1000001L)
    val broken = stage(1, throw new NoSuchMethodError("moved"))
    val before = Faults.count
    listener.onStageSubmitted(submitted(broken, state.executionId))
    listener.onStageCompleted(SparkListenerStageCompleted(broken))
    assert(state.errors.sum == 1 && Faults.count == before + 1 && state.stages.runs.contains(Nil))
    val _ = QueryStates.remove(state.executionId)
  }

  test("a query that has ended is not remembered for stages whose end was never announced") {
    val listener = new QueryEndListener(spark.sparkContext)
    val ids = Seq(1000002L, 1000003L)
    ids.foreach(QueryStates.of)
    for ((id, number) <- ids.zipWithIndex; part <- 0 to 1) listener.onStageSubmitted(submitted(stage(10 * number + part), id))
    assert(listener.awaitedStages == 4)
    listener.onOtherEvent(SparkListenerSQLExecutionEnd(ids.head, 0L))
    assert(listener.awaitedStages == 2)
    listener.onOtherEvent(SparkListenerSQLExecutionEnd(ids.last, 0L))
    assert(listener.awaitedStages == 0)
  }
}
