package io.aqeplugin.exec

import java.util.concurrent.{CompletableFuture, Future => JavaFuture}

import scala.concurrent.{Future, Promise}

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike

import io.aqeplugin.metrics.Faults
import io.aqeplugin.observe.QueryStates

/** A stage that does nothing and ends at a moment, whereupon AQE plans again and the rules can check the waits of the plan.
  *
  * AQE plans again only when a stage ends. This one stands beside filters whose build sides have not finished: there it holds up nothing
  * that does not wait anyway, and the plan made when a build side ends no longer has it. Equal moments are equal nodes, so that all plans
  * of a query share one stage. In place of a filter's source it holds the filter until the next plan. It uses no thread of its own and no
  * job, and ends with the query.
  *
  * @param atNanos
  *   when it ends, as `System.nanoTime`
  */
case class WaitClockExec(atNanos: Long, child: SparkPlan = NoRowsExec(Nil)) extends BroadcastExchangeLike {

  override def output: Seq[Attribute] = child.output
  override def runtimeStatistics: Statistics = Statistics(BigInt(0), Some(BigInt(0)))

  // Nothing reads what a clock broadcasts, and making a broadcast could fail, and with it the query.
  private def Nothing: Broadcast[Any] = null

  @transient private lazy val promise = Promise[Broadcast[Any]]()

  @transient override protected lazy val completionFuture: Future[Broadcast[Any]] = {
    relationFuture
    promise.future
  }

  @transient override lazy val relationFuture: JavaFuture[Broadcast[Any]] = {
    val done = new CompletableFuture[Broadcast[Any]]()
    val delayMillis = math.max(0L, (atNanos - System.nanoTime()) / 1000000L + 1)
    def ring(): Unit = { val _ = (promise.trySuccess(Nothing), done.complete(Nothing)) }
    try {
      val ticking = WaitClockExec.timer.afterMillis(delayMillis)(ring())
      QueryStates.current(sparkContext).foreach(_.atEnd { () =>
        // A plan may outlive its query's state, as one that runs again after an interrupt: it must not wait for a clock that stands still.
        val _ = ticking.cancel(false)
        ring()
      })
    } catch {
      // A driver may not be able to start another thread.
      case error: Throwable =>
        ring()
        Faults.note("wait clock", "probe sides wait until their build sides have finished", error)
    }
    done
  }

  override protected def doPrepare(): Unit = { val _ = relationFuture }

  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("a clock has no rows")

  override def doExecuteBroadcast[T](): Broadcast[T] = relationFuture.get().asInstanceOf[Broadcast[T]]

  override def nodeName: String = "WaitClock"
  override def simpleString(maxFields: Int): String = nodeName

  override protected def withNewChildInternal(newChild: SparkPlan): WaitClockExec = copy(child = newChild)
}

object WaitClockExec {

  /** A clock that ends at once, in place of a source whose exchanges are about to start. */
  def inPlaceOf(source: SparkPlan, atNanos: Long): WaitClockExec =
    WaitClockExec(atNanos, NoRowsExec(source.output, Some(source.canonicalized)))

  /** The source that a clock, or its stage, stands for. */
  def sourceHeld(plan: SparkPlan): Option[SparkPlan] = plan match {
    case WaitClockExec(_, NoRowsExec(_, source)) => source
    case stage: BroadcastQueryStageExec          => sourceHeld(stage.broadcast)
    case _                                       => None
  }

  /** In the past of every plan. */
  val PastNanos: Long = System.nanoTime()

  /** Ends the clocks of all queries. */
  private[exec] val timer = new DaemonTimer("aqe-plugin-wait-clock")
}

/** The child of a clock: an exchange needs one, and Spark copies no node whose constructor has no parameter.
  *
  * @param inPlaceOf
  *   the canonical form of the source that the clock stands for; none if it stands for none
  */
case class NoRowsExec(output: Seq[Attribute], inPlaceOf: Option[SparkPlan] = None) extends LeafExecNode {
  override def simpleString(maxFields: Int): String = nodeName
  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD
}
