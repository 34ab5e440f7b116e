package io.aqeplugin.exec

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast

import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.QueryStates

/** The copies of a filter on executors, each made by the first task there that needs it. */
object FilterCopies {

  /** Frees the copies when the query ends, or else they would stay for as long as its DataFrame is reachable. The driver keeps the filter:
    * the plan may run again, and executors then fetch it again.
    */
  def freeAtEnd(sparkContext: SparkContext, executionId: Option[Long], filter: Broadcast[_]): Unit =
    executionId.flatMap(QueryStates.get).foreach(_.atEnd { () =>
      // The thread that handles the end must not wait for the driver's block manager.
      FilterBuildThreads.pool.execute(() => free(sparkContext, filter))
    })

  private def free(sparkContext: SparkContext, filter: Broadcast[_]): Unit =
    try if (!sparkContext.isStopped) filter.unpersist()
    catch {
      case Survivable(error) =>
        if (!sparkContext.isStopped) Faults.note("end of filter", "executors keep it until Spark cleans up", error)
    }
}
