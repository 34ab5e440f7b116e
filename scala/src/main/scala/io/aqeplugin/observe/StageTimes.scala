package io.aqeplugin.observe

import java.util.concurrent.atomic.AtomicReference

/** One attempt of a stage that is over.
  *
  * @param shuffleId
  *   the shuffle that it wrote; none when its rows went to the driver or out of the query
  * @param runMillis
  *   run time of its tasks that succeeded
  * @param metrics
  *   accumulators of the plan's metrics that it added to; empty for a stage that wrote a shuffle, which is known by that
  * @param again
  *   it failed, or ran after one that had: some of its work was done twice, and how much is not told
  */
final case class StageRun(shuffleId: Option[Int], runMillis: Long, metrics: Set[Long], again: Boolean = false)

/** The stages of one query that are over. Thread-safe and bounded: of a query with more stages or metrics than are kept nothing is said. */
final class StageTimes {
  import StageTimes._

  private val kept = new AtomicReference(Kept(Vector.empty, 0, complete = true))

  def add(run: StageRun): Unit = {
    val _ = kept.updateAndGet { before =>
      val metrics = before.metrics + run.metrics.size
      if (!before.complete || before.runs.size >= MaxStages || metrics > MaxMetrics) Kept(Vector.empty, 0, complete = false)
      else Kept(before.runs :+ run, metrics, complete = true)
    }
  }

  /** None when there were too many. */
  def runs: Option[Seq[StageRun]] = Some(kept.get).filter(_.complete).map(_.runs)
}

object StageTimes {
  val MaxStages = 2000
  private val MaxMetrics = 100000

  private final case class Kept(runs: Vector[StageRun], metrics: Int, complete: Boolean)
}
