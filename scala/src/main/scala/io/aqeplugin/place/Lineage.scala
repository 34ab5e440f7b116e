package io.aqeplugin.place

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, Average, Complete, Partial}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, HashAggregateExec, ObjectHashAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.window.WindowExecBase
import org.apache.spark.sql.types.{DataType, DecimalType, StructType}

import io.aqeplugin.observe.{JoinKey, KeyKind, PlainKey, Total}

/** Traces join keys down a plan, operator by operator.
  *
  * Each rule answers one question. Suppose that a row of the operator's output is dropped further up unless its keys are in some set, which
  * never contains nulls. May rows of this child whose keys are not in the set be dropped? Where the answer is not a clear yes, or the
  * operator is not listed, the keys do not go through it.
  *
  * Some operators then give different rows for keys outside the set, and not only fewer ([[Effect]]). These rows too are dropped further
  * up, but until then an expression may fail on a row that it would never have met.
  *
  * A key is a [[JoinKey]]. One that is computed from a column is the same for all rows that an operator considers equal by that column only if
  * they have the same value there.
  */
object Lineage {

  /** What an operator makes of fewer rows of a child. */
  sealed trait Effect

  /** Fewer of the same rows. */
  case object Fewer extends Effect

  /** Fewer of the same rows, but of the rows with one key perhaps only some: another input may keep its own, or the key that was traced is
    * not the one that the rows have.
    */
  case object SomeOfAKey extends Effect

  /** Whole groups disappear if the filter treats all rows with one key alike; otherwise the operator may also compute a result from a part of
    * a group.
    *
    * @param computed
    *   what the operator computes from its groups
    */
  final case class FewerGroups(computed: Seq[Expression]) extends Effect

  /** Rows that would not be there, but no more of them: an outer join gives a null-extended row, and `EXISTS` another value. */
  case object NewRows extends Effect

  /** Rows that would not be there, perhaps many: an anti join gives those that it would have left out, unless they are dropped on its other side. */
  case object MoreRows extends Effect

  /** One step down: a child, the keys in terms of its output, and what dropping rows of the child does to the rows of the operator. */
  final case class Step(child: SparkPlan, keys: Seq[Expression], effect: Effect = Fewer)

  /** The children of `plan` that `keys`, expressions over its output, may be pushed into. */
  def steps(plan: SparkPlan, keys: Seq[Expression]): Seq[Step] = plan match {
    case ProjectExec(list, child) if list.forall(_.deterministic) => through(list, keys).map(Step(child, _)).toSeq

    case FilterExec(condition, child) if condition.deterministic => Seq(Step(child, keys))

    case SortExec(_, _, child, _) => Seq(Step(child, keys))

    case exchange: ShuffleExchangeExec if !isByPosition(exchange) => Seq(Step(exchange.child, keys))

    case exchange: BroadcastExchangeExec => Seq(Step(exchange.child, keys))

    case read: AQEShuffleReadExec => Seq(Step(read.child, keys))

    case aggregate: HashAggregateExec       => throughAggregate(aggregate, keys).toSeq
    case aggregate: SortAggregateExec       => throughAggregate(aggregate, keys).toSeq
    case aggregate: ObjectHashAggregateExec => throughAggregate(aggregate, keys).toSeq

    case window: WindowExecBase
        if arePartitionKeys(keys, window.partitionSpec) && keys.forall(isOfGroup) && !window.windowExpression.exists(dependsOnOthers) =>
      Seq(Step(window.child, keys, FewerGroups(window.windowExpression)))

    case union: UnionExec => throughUnion(union, keys)

    case join: BaseJoinExec => throughJoin(join, keys)

    case _ => Nil
  }

  /** Rewrites keys above a projection as expressions below it; `None` when that is no [[JoinKey]]. */
  private def through(list: Seq[NamedExpression], keys: Seq[Expression]): Option[Seq[Expression]] = {
    val aliases = list.collect { case alias: Alias => alias.toAttribute -> alias.child }
    lazy val below = AttributeMap(aliases)
    // From the leaves up, so that nothing is replaced twice: Spark names a normalized floating-point number like the column that it is of.
    val pushed = if (aliases.isEmpty) keys else keys.map(_.transformUp { case a: Attribute => below.getOrElse(a, a) })
    if (pushed.forall(isKey)) Some(pushed) else None
  }

  /** A group that is kept is kept whole, but only if every key is a grouping key. A global aggregate has a row even without input. */
  private def throughAggregate(aggregate: BaseAggregateExec, keys: Seq[Expression]): Option[Step] = {
    val grouping = aggregate.groupingExpressions
    for {
      onGrouping <- through(aggregate.resultExpressions, keys)
      groupingIds = grouping.map(_.exprId).toSet
      if grouping.nonEmpty && onGrouping.forall(_.references.forall(a => groupingIds.contains(a.exprId)))
      if onGrouping.forall(isOfGroup)
      if !(aggregate.resultExpressions ++ aggregate.aggregateExpressions).exists(dependsOnOthers)
      below <- through(grouping, onGrouping)
    } yield Step(aggregate.child, below, if (aggregate.aggregateExpressions.isEmpty) Fewer else FewerGroups(computed(aggregate)))
  }

  /** Whether a value for one row depends on how many were before it, as that of `rand` does. A function like `first` does not: it is called
    * not deterministic because of the order of its rows, which stays.
    */
  private def dependsOnOthers(expression: Expression): Boolean = expression.exists {
    case _: AggregateFunction => false
    case one                  => !one.deterministic && one.children.forall(_.deterministic)
  }

  /** The expressions that an operator evaluates on rows of its input or on its groups. */
  def evaluated(plan: SparkPlan): Seq[Expression] = plan match {
    case aggregate: BaseAggregateExec => inputs(aggregate) ++ aggregate.groupingExpressions ++ computed(aggregate)
    case other                        => other.expressions
  }

  /** An aggregate that merges partial results evaluates no input of its functions. */
  private def inputs(aggregate: BaseAggregateExec): Seq[Expression] =
    aggregate.aggregateExpressions.filter(function => function.mode == Partial || function.mode == Complete)

  /** The expressions that an aggregate computes from its groups, with the functions that may fail on a part of one. Spark writes an average of short decimals as an average of whole numbers,
    * divided and cast back. Like every average it lies between its inputs, so it fits their type.
    */
  private def computed(aggregate: BaseAggregateExec): Seq[Expression] = {
    val averages = AttributeSet(aggregate.aggregateExpressions.filter(_.aggregateFunction.isInstanceOf[Average]).map(_.resultAttribute))
    val results = aggregate.resultExpressions.map(_.transform {
      case Cast(Divide(average: Attribute, _: Literal, _), _: DecimalType, _, _) if averages.contains(average) => average
    })
    results ++ aggregate.aggregateExpressions.map(_.aggregateFunction).filterNot(Total.ofItself(_))
  }

  /** A filter that failed in one run of a task passes rows that it drops in another. Rows that are distributed by position would go
    * elsewhere than in the first run: a reader that has finished would miss them, or another would read them twice.
    */
  private def isByPosition(exchange: ShuffleExchangeExec): Boolean = exchange.outputPartitioning.isInstanceOf[RoundRobinPartitioning]

  /** A window function sees each partition that is kept as a whole. */
  private def arePartitionKeys(keys: Seq[Expression], partitionSpec: Seq[Expression]): Boolean =
    keys.forall(_.references.forall(a => partitionSpec.exists(_.semanticEquals(a))))

  /** By position: each branch has its own attributes, and the first branch's attributes may occur in another branch at a different
    * position.
    */
  private def throughUnion(union: UnionExec, keys: Seq[Expression]): Seq[Step] = union.children.map { child =>
    val byPosition = AttributeMap(union.output.zip(child.output))
    Step(child, keys.map(_.transform { case a: Attribute => byPosition.getOrElse(a, a) }), SomeOfAKey)
  }

  /** Into each side on which all keys can be named, directly or as the partner of an equality of this join.
    *
    * This includes the null-supplying side of an outer join: a row that becomes null-extended because its partner was dropped has a null
    * key, or a key outside the set, and is dropped further up as before. So a key of that side must be null for null, unlike `coalesce(a, 0)`.
    * A null-aware anti join is never entered.
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
    val nullSupplying = join.joinType match {
      case LeftOuter  => join.right.outputSet
      case RightOuter => join.left.outputSet
      case _          => AttributeSet.empty
    }
    def nullsStay =
      nullSupplying.isEmpty || keys.forall(key => key.references.intersect(nullSupplying).isEmpty || JoinKey.of(key).exists(_.isNullOfNull))
    if (!crossable || !nullsStay) {
      Nil
    } else {
      val pairs = join.leftKeys.zip(join.rightKeys)
      // A row of the preserved side without a partner has null for the other side's key, whatever its own key is.
      def preserved(side: SparkPlan): Effect = if (keys.forall(_.references.subsetOf(side.outputSet))) Fewer else SomeOfAKey
      val (ofLeft, ofRight) = join.joinType match {
        case RightOuter       => (NewRows, preserved(join.right))
        case LeftOuter        => (preserved(join.left), NewRows)
        case LeftAnti         => (Fewer, MoreRows)
        case _: ExistenceJoin => (Fewer, NewRows)
        case _                => (Fewer, Fewer)
      }
      named(join.left, keys, pairs.map(_.swap)).map(Step(join.left, _, ofLeft)).toSeq ++
        named(join.right, keys, pairs).map(Step(join.right, _, ofRight))
    }
  }

  /** `keys` over the output of `side`, with keys of the other side replaced by their partners; `partners` maps the other side's keys to
    * this side's.
    */
  private def named(side: SparkPlan, keys: Seq[Expression], partners: Seq[(Expression, Expression)]): Option[Seq[Expression]] = {
    val translated = keys.map { key =>
      if (key.references.subsetOf(side.outputSet)) Some(key)
      else partners.collectFirst(Function.unlift { case (other, own) => partner(key, other, own) })
    }
    if (translated.forall(_.isDefined)) Some(translated.flatten) else None
  }

  /** `key` in terms of `own`, which the join compares with `other`; none if it reads something else than `other`. */
  private def partner(key: Expression, other: Expression, own: Expression): Option[Expression] = (key, other, own) match {
    case _ if isKey(own) && (sameColumn(other, key) || other.semanticEquals(key))                                     => Some(own)
    case (computed, column: Attribute, ownColumn: Attribute) if computed.references.forall(_.exprId == column.exprId) =>
      val isSame = column.dataType == ownColumn.dataType && KeyKind.areTheSameWhenEqual(column.dataType)
      Option.when(isSame)(computed.transform { case _: Attribute => ownColumn }).filter(isKey)
    case _ => None
  }

  private def sameColumn(a: Expression, b: Expression): Boolean = (PlainKey.of(a), PlainKey.of(b)) match {
    case (Right(left), Right(right)) => left.attribute.exprId == right.attribute.exprId && left.kind == right.kind
    case _                           => false
  }

  private def isKey(key: Expression): Boolean = JoinKey.of(key).isRight

  /** Whether a key over the columns of groups is the same for all rows of a group. */
  private def isOfGroup(key: Expression): Boolean = PlainKey.of(key).isRight || key.references.forall(column => isOfGroup(column.dataType))

  private def isOfGroup(column: DataType): Boolean = column match {
    case struct: StructType => struct.forall(field => isOfGroup(field.dataType))
    case other              => KeyKind.areTheSameWhenEqual(other)
  }
}
