package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.decide.{JoinKind, Side}

/** A join that is left alone because it is a [[ForeignNodes foreign operator]], or lies above one.
  *
  * @param foreign
  *   the class of that operator
  */
final case class ForeignJoin(node: SparkPlan, id: JoinId, kind: JoinKind, texts: Seq[String], foreign: String) {
  def child(side: Side): SparkPlan = side.of(node.children.head, node.children.last)
}

/** The joins of a plan that are left alone.
  *
  * A filter that a join's keys lead to, the sketch below its build side and the exchange that a hint takes away all lie below the join, so one foreign operator
  * anywhere below is enough. One above, or beside it, is none of the join's business.
  */
object ForeignJoins {

  /** @param found
    *   the joins of Spark's in the plan
    * @param later
    *   what the plan will be when its stages begin, if others change it until then
    * @param engine
    *   the engine whose operators are not foreign
    */
  def of(plan: SparkPlan, found: Seq[FoundJoin], later: Option[SparkPlan], engine: Option[Engine] = None): Seq[ForeignJoin] = {
    def first(node: SparkPlan): Option[String] = ForeignNodes.first(node, engine)
    val now = if (first(plan).isEmpty) Nil else ofSpark(found)(join => first(join.node)) ++ ofOthers(plan)
    now ++ later.toSeq.flatMap(made => becoming(found.filterNot(join => now.exists(_.id == join.id)), made))
  }

  /** Those that will be foreign, or will lie above a foreign operator. An engine need not say which of its joins was which. */
  private def becoming(found: Seq[FoundJoin], made: SparkPlan): Seq[ForeignJoin] = ForeignNodes.first(made).toSeq.flatMap { first =>
    val stay = (JoinFinder.find(made) ++ JoinRange.find(made)).filter(join => ForeignNodes.first(join.node).isEmpty).map(_.id).toSet
    val named = ofOthers(made).map(join => join.id -> join.foreign).toMap
    ofSpark(found.filterNot(join => stay(join.id)))(join => named.get(join.id).orElse(Some(first)))
  }

  private def ofSpark(found: Seq[FoundJoin])(foreign: FoundJoin => Option[String]): Seq[ForeignJoin] =
    for (join <- found; name <- foreign(join)) yield ForeignJoin(join.node, join.id, join.kind, join.texts, name)

  /** Joins of other engines, known by the logical join that they carry out. */
  private def ofOthers(plan: SparkPlan): Seq[ForeignJoin] = plan.collect {
    case node if node.children.size == 2 && ForeignNodes.isOne(node) =>
      for (joined <- node.logicalLink.collect { case join: Join => join }; join <- EqualityJoin.of(joined))
        yield ForeignJoin(node, join.id, join.kind, join.texts, node.getClass.getName)
  }.flatten
}
