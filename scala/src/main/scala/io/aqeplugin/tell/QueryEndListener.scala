package io.aqeplugin.tell

import java.util.{LinkedHashMap, Map => JavaMap}

import org.apache.spark.{ExceptionFailure, SparkContext, TaskKilled}
import org.apache.spark.scheduler._
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

import io.aqeplugin.decide.JoinCost
import io.aqeplugin.observe.{QueryState, QueryStates, StageRun}

/** Closes the state of a query when it ends: the joins nothing was decided for, the outcomes, what the joins cost, and the memory it held. Until then it
  * notes what the query's stages took, once a stage.
  */
final class QueryEndListener(sparkContext: SparkContext) extends SparkListener {

  import QueryEndListener.RunningStage

  // Stages that run, for queries that are remembered. Touched by the listener queue's thread alone.
  private val running = new LinkedHashMap[Int, RunningStage]() {
    override def removeEldestEntry(eldest: JavaMap.Entry[Int, RunningStage]): Boolean = size > QueryEndListener.MaxRunningStages
  }

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit = for {
    properties <- Option(event.properties)
    id <- Option(properties.getProperty(SQLExecution.EXECUTION_ID_KEY)).flatMap(_.toLongOption)
    state <- QueryStates.get(id)
  } { val _ = running.put(event.stageInfo.stageId, RunningStage(state)) }

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit = event.reason match {
    // Spark adds the run time of these to their stage's, and what their scans measured to nothing.
    case _: ExceptionFailure | _: TaskKilled =>
      Option(event.taskMetrics).foreach { metrics =>
        val _ = running.computeIfPresent(event.stageId, (_, stage) => stage.without(metrics.executorRunTime))
      }
    case _ =>
  }

  override def onStageCompleted(event: SparkListenerStageCompleted): Unit =
    Option(running.remove(event.stageInfo.stageId)).foreach { stage =>
      try stage.state.stages.add(QueryEndListener.runOf(event.stageInfo, stage.failedMillis))
      catch { case Survivable(error) => QueryEndListener.unmeasured(stage.state, error) }
    }

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd =>
      QueryStates.remove(end.executionId).foreach { state =>
        close(state, end)
        // A full queue drops ends of stages, each of which would keep the query's plan and filters in memory.
        val _ = running.values.removeIf(_.state eq state)
      }
    case mark: EndsSeen => mark.reach()
    case _              =>
  }

  /** Stages whose end is awaited. */
  private[tell] def awaitedStages: Int = running.size

  private def close(state: QueryState, end: SparkListenerSQLExecutionEnd): Unit =
    try
      if (state.end()) {
        state.endJoins().foreach(DecisionLog.record(sparkContext, state, state.mode, _))
        val failed = end.errorMessage.exists(_.nonEmpty)
        val outcomes = FilterOutcome.of(state)
        DecisionLog.recordEnd(
          sparkContext,
          state,
          SparkBridge.durationMillis(end),
          failed,
          outcomes,
          costs(state, end, failed, outcomes)
        )
      }
    catch {
      case Survivable(error) => Faults.note("end of query", "its outcome is not recorded", error)
    }

  private def costs(state: QueryState, end: SparkListenerSQLExecutionEnd, failed: Boolean, outcomes: Seq[FilterOutcome]): Seq[JoinCost] =
    try MeasuredCosts.of(state, SparkBridge.queryOf(end).filterNot(_ => failed).map(_.executedPlan), failed, outcomes)
    catch {
      case Survivable(error) =>
        QueryEndListener.unmeasured(state, error)
        Nil
    }
}

object QueryEndListener {
  private val MaxRunningStages = 10000

  /** A stage that runs, and the run time of those of its tasks that failed or were killed. */
  private final case class RunningStage(state: QueryState, failedMillis: Long = 0) {
    def without(millis: Long): RunningStage = copy(failedMillis = failedMillis + millis)
  }

  private def runOf(stage: StageInfo, failedMillis: Long): StageRun = {
    val shuffle = SparkBridge.shuffleOf(stage)
    val metrics = if (shuffle.isDefined) Set.empty[Long] else stage.accumulables.keySet.toSet
    val again = stage.attemptNumber() > 0 || stage.failureReason.isDefined
    StageRun(shuffle, math.max(0L, stage.taskMetrics.executorRunTime - failedMillis), metrics, again)
  }

  private def unmeasured(state: QueryState, error: Throwable): Unit = {
    state.errors.increment()
    Faults.note("measurement of joins", "what they cost is not recorded", error)
  }
}
