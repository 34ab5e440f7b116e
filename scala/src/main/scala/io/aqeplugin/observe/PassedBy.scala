package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.decide._

/** A plan whose joins are not looked at. Their decisions are made when the query has ended: nothing of it is on the way of the query.
  *
  * @param read
  *   what the plan reads
  * @param reason
  *   why that is not worth a look
  */
final case class PassedBy(plan: SparkPlan, read: LookFacts, reason: Reason, engine: Option[Engine]) {

  /** What EXPLAIN says of its joins. */
  val line = new ExplainLine

  /** Those of its rows, which are the same in the plans that AQE makes of it. */
  def columns: Seq[ExprId] = plan.output.map(_.exprId)

  private def unknown = -1L

  private lazy val joins: Seq[FoundJoin] = JoinFinder.find(plan) ++ JoinRange.find(plan)

  /** The joins, in the order in which those that are looked at are met. */
  private[observe] def ids: Seq[JoinId] = joins.map(_.id)

  /** The facts of each join: that it is there, and what its plan reads. */
  private[observe] def facts(nameOf: JoinId => String): Seq[JoinFacts] = joins.map(join => factsOf(join, nameOf(join.id)))

  private def factsOf(join: FoundJoin, name: String): JoinFacts = JoinFacts(
    name,
    join.kind,
    join.texts,
    join.range.map(_.buildSide).orElse(join.broadcastSide).getOrElse(Side.Right),
    BuildFacts.expected(unknown, memoryBytesPerRow = 0, KeyFacts(join.texts.size, supported = true)),
    ProbeFacts(unknown, unknown, rowBytes = 0, exchanges = 0, started = false, targets = 0),
    // The application may have stopped, and answers no longer.
    ClusterFacts(read.slots, executors = 1),
    hint = None,
    join.sparkStrategy,
    canBroadcast = false,
    engine = engine.map(_.name),
    look = Some(read)
  )
}
