package io.aqeplugin.place

import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeMap,
  AttributeSet,
  Cast,
  Divide,
  Expression,
  Literal,
  NamedExpression
}
import org.apache.spark.sql.catalyst.expressions.aggregate.{Average, Complete, Partial}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, HashAggregateExec, ObjectHashAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.window.WindowExecBase
import org.apache.spark.sql.types.DecimalType

import io.aqeplugin.observe.PlainKey

/** Follows join keys down a plan, operator by operator.
  *
  * The question each rule answers: given that a row of the operator's output is dropped further up unless its keys are in some set (null keys
  * never are), may rows of this child be dropped whose keys are not in the set? Where the answer is not a plain yes the operator is not
  * crossed. An operator that is not listed is not crossed either.
  *
  * Some operators then give other rows for the keys that are not in the set, and not only fewer: an outer join one with nulls, an anti join one
  * that it left out before, an aggregate a sum of a part of its group (a filter at rest, or a union of which one branch has no filter, lets a part
  * through). Those too are dropped further up, but on the way there an expression may fail on them that never met such a row: such an
  * operator is crossed only below expressions that are [[Total]].
  */
object Lineage {

  /** One step down: a child and what the keys are called there.
    *
    * @param changed
    *   what the operator computes of rows that may be others than without the filter; none when its rows only become fewer
    */
  final case class Step(child: SparkPlan, keys: Seq[Expression], changed: Option[Seq[Expression]] = None)

  /** The children of `plan` that `keys`, expressions over its output, may be pushed into. */
  def steps(plan: SparkPlan, keys: Seq[Expression]): Seq[Step] = plan match {
    case ProjectExec(list, child) if list.forall(_.deterministic) => through(list, keys).map(Step(child, _)).toSeq

    case FilterExec(condition, child) if condition.deterministic => Seq(Step(child, keys))

    case SortExec(_, _, child, _) => Seq(Step(child, keys))

    case exchange: ShuffleExchangeLike if !isByPosition(exchange) => Seq(Step(exchange.child, keys))

    case exchange: BroadcastExchangeExec => Seq(Step(exchange.child, keys))

    case read: AQEShuffleReadExec => Seq(Step(read.child, keys))

    case aggregate: HashAggregateExec       => throughAggregate(aggregate, keys).toSeq
    case aggregate: SortAggregateExec       => throughAggregate(aggregate, keys).toSeq
    case aggregate: ObjectHashAggregateExec => throughAggregate(aggregate, keys).toSeq

    case window: WindowExecBase if arePartitionKeys(keys, window.partitionSpec) => Seq(Step(window.child, keys, changed = Some(Nil)))

    case union: UnionExec => throughUnion(union, keys)

    case join: BaseJoinExec => throughJoin(join, keys)

    case _ => Nil
  }

  /** Keys above a projection as expressions below it; `None` when one of them is computed. */
  private def through(list: Seq[NamedExpression], keys: Seq[Expression]): Option[Seq[Expression]] = {
    val below = AttributeMap(list.collect { case alias: Alias => alias.toAttribute -> alias.child })
    val pushed = keys.map(_.transform { case a: Attribute => below.getOrElse(a, a) })
    if (pushed.forall(isPlain)) Some(pushed) else None
  }

  /** Groups that are kept are kept whole, but only if every key is a grouping key. A global aggregate has a row even without input. */
  private def throughAggregate(aggregate: BaseAggregateExec, keys: Seq[Expression]): Option[Step] = {
    val grouping = aggregate.groupingExpressions
    for {
      onGrouping <- through(aggregate.resultExpressions, keys)
      groupingIds = grouping.map(_.exprId).toSet
      if grouping.nonEmpty && onGrouping.forall(_.references.forall(a => groupingIds.contains(a.exprId)))
      below <- through(grouping, onGrouping)
    } yield Step(aggregate.child, below, changed = Some(computed(aggregate)).filter(_ => aggregate.aggregateExpressions.nonEmpty))
  }

  /** What an operator evaluates, on rows of its input or of its groups. */
  def evaluated(plan: SparkPlan): Seq[Expression] = plan match {
    case aggregate: BaseAggregateExec => inputs(aggregate) ++ aggregate.groupingExpressions ++ computed(aggregate)
    case other                        => other.expressions
  }

  /** An aggregate that puts parts together evaluates no input of its functions. */
  private def inputs(aggregate: BaseAggregateExec): Seq[Expression] =
    aggregate.aggregateExpressions.filter(function => function.mode == Partial || function.mode == Complete)

  /** What an aggregate computes of its groups. Spark writes an average of short decimals as one of whole numbers, divided and cast back: like every
    * average it lies between the values it is of, and fits their type.
    */
  private def computed(aggregate: BaseAggregateExec): Seq[Expression] = {
    val averages = AttributeSet(aggregate.aggregateExpressions.filter(_.aggregateFunction.isInstanceOf[Average]).map(_.resultAttribute))
    aggregate.resultExpressions.map(_.transform {
      case Cast(Divide(average: Attribute, _: Literal, _), _: DecimalType, _, _) if averages.contains(average) => average
    })
  }

  /** Filters rest, and which rows pass meanwhile may differ when a task runs again. Rows dealt out by their place would then go elsewhere than the
    * first time, and be lost to a reader that has finished or be read twice.
    */
  private def isByPosition(exchange: ShuffleExchangeLike): Boolean = exchange.outputPartitioning.isInstanceOf[RoundRobinPartitioning]

  /** A window function sees the whole of each partition that is kept. */
  private def arePartitionKeys(keys: Seq[Expression], partitionSpec: Seq[Expression]): Boolean =
    keys.forall(_.references.forall(a => partitionSpec.exists(_.semanticEquals(a))))

  /** By position: the branches have attributes of their own, and the first branch's names may recur in another branch at another place. */
  private def throughUnion(union: UnionExec, keys: Seq[Expression]): Seq[Step] = union.children.map { child =>
    val byPosition = AttributeMap(union.output.zip(child.output))
    Step(child, keys.map(_.transform { case a: Attribute => byPosition.getOrElse(a, a) }))
  }

  /** To each side on which all keys can be named, directly or as the partner of an equality of this join.
    *
    * Also below the null-supplying side of an outer join: a row that becomes null-extended because its partner was dropped carries a null
    * key, or a key that is not in the set, and is dropped further up like before. A null-aware anti join is never entered.
    */
  private def throughJoin(join: BaseJoinExec, keys: Seq[Expression]): Seq[Step] = {
    val nullAware = join match {
      case b: BroadcastHashJoinExec => b.isNullAwareAntiJoin
      case _                        => false
    }
    val crossable = !nullAware && join.condition.forall(_.deterministic) && (join.joinType match {
      case _: InnerLike | LeftOuter | RightOuter | LeftSemi | LeftAnti | _: ExistenceJoin => true
      case _                                                                              => false
    })
    if (!crossable) {
      Nil
    } else {
      val pairs = join.leftKeys.zip(join.rightKeys)
      val (changedByLeft, changedByRight) = join.joinType match {
        case RightOuter                              => (Some(Nil), None)
        case LeftOuter | LeftAnti | _: ExistenceJoin => (None, Some(Nil))
        case _                                       => (None, None)
      }
      named(join.left, keys, pairs.map(_.swap)).map(Step(join.left, _, changedByLeft)).toSeq ++
        named(join.right, keys, pairs).map(Step(join.right, _, changedByRight))
    }
  }

  /** `keys` over the output of `side`, with keys of the other side replaced by their partners; `partners` maps other → side. */
  private def named(side: SparkPlan, keys: Seq[Expression], partners: Seq[(Expression, Expression)]): Option[Seq[Expression]] = {
    val translated = keys.map { key =>
      if (key.references.subsetOf(side.outputSet)) Some(key)
      else partners.collectFirst { case (other, own) if sameColumn(other, key) && isPlain(own) => own }
    }
    if (translated.forall(_.isDefined)) Some(translated.flatten) else None
  }

  private def sameColumn(a: Expression, b: Expression): Boolean = (PlainKey.of(a), PlainKey.of(b)) match {
    case (Right(left), Right(right)) => left.attribute.exprId == right.attribute.exprId && left.kind == right.kind
    case _                           => false
  }

  private def isPlain(key: Expression): Boolean = PlainKey.of(key).isRight
}
