package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.types._

import io.aqeplugin.decide.{JoinKind, ReasonCode, Side, Strategy}
import io.aqeplugin.filters.{RangeBound, RangeBounds}

/** The comparisons of a join that bound one column of its probe side by columns of its build side.
  *
  * @param probe
  *   the bounded column, below casts that lose nothing
  * @param build
  *   the column of each bound
  * @param texts
  *   the comparisons as SQL
  * @param obstacle
  *   why no filter can hold what the comparisons say
  */
final case class JoinRange(
    buildSide: Side,
    probe: Expression,
    build: Seq[Expression],
    bounds: RangeBounds,
    texts: Seq[String],
    obstacle: Option[ReasonCode]
) {

  /** Whether the column has a lower and an upper bound. */
  def isClosed: Boolean = bounds.bounds.exists(_.isLower) && bounds.bounds.exists(!_.isLower)

  def keys(side: Side): Seq[Expression] = if (side == buildSide) build else Seq(probe)

  def id(kind: JoinKind): JoinId = JoinId.named(kind, comparisons(JoinId.text), comparisons(JoinId.nameOf))

  private def comparisons(text: Expression => String): Seq[String] = {
    val known = build.lazyZip(bounds.bounds).map { (column, bound) =>
      val offset = if (bound.offset == 0) "" else f"${bound.offset}%+d"
      s"${text(probe)}${if (bound.isLower) ">=" else "<="}${text(column)}$offset"
    }
    if (known.isEmpty) Seq(s"${text(probe)}<>${build.map(text).mkString(" ")}") else known.toSeq
  }
}

/** Finds the joins of a physical plan that compare columns of both sides by order. */
object JoinRange {

  /** The joins of `plan` that bound columns of a side whose rows without a partner may be dropped, once for each such column. Finished
    * stages are not entered.
    *
    * Reading the range of a finished broadcast costs next to nothing, so there any bound counts. Elsewhere the range is known only once the
    * filter is built, so only a column with two bounds counts.
    */
  def find(plan: SparkPlan): Seq[FoundJoin] = plan.collect { case join: BaseJoinExec if join.condition.isDefined => of(join) }.flatten

  private def of(join: BaseJoinExec): Seq[FoundJoin] = {
    val broadcastSide = join match {
      case nested: BroadcastNestedLoopJoinExec => Some(JoinFinder.sideOf(nested.buildSide))
      case hash: BroadcastHashJoinExec         => Some(JoinFinder.sideOf(hash.buildSide))
      case _                                   => None
    }
    val buildSides = join match {
      case hash: BroadcastHashJoinExec if hash.isNullAwareAntiJoin => Nil
      case _: SortMergeJoinExec | _: ShuffledHashJoinExec          => Seq(Side.Right, Side.Left)
      case _                                                       => broadcastSide.toSeq
    }
    for {
      kind <- JoinFinder.kindOf(join.joinType, nullAware = false).toSeq
      buildSide <- buildSides if kind.mayFilter(buildSide.other)
      isFinished = isFinishedBroadcast(buildSide.of(join.left, join.right))
      range <- ranges(join, buildSide) if isFinished || range.isClosed
    } yield FoundJoin(
      join,
      kind,
      broadcastSide,
      if (broadcastSide.isDefined) Strategy.Broadcast else Strategy.LeaveToSpark,
      Some(range)
    )
  }

  /** Whether a side of a join is a broadcast that has finished. */
  def isFinishedBroadcast(side: SparkPlan): Boolean = side match {
    case stage: BroadcastQueryStageExec => stage.isMaterialized
    case _                              => false
  }

  private def ranges(join: BaseJoinExec, buildSide: Side): Seq[JoinRange] = {
    val (build, probe) = (buildSide.of(join.left, join.right), buildSide.other.of(join.left, join.right))
    val compared = join.condition.toSeq.flatMap(Conjuncts.of).flatMap(Comparison.of).flatMap(_.between(probe.outputSet, build.outputSet))
    val found = compared.collect { case Right(bound) => bound }
    if (found.isEmpty) compared.collectFirst { case Left(refused) => refused.range(buildSide) }.toSeq
    else
      found.groupBy(bound => JoinId.text(bound.probe)).toSeq.sortBy(_._1).map { case (_, bounds) =>
        val sorted = bounds.distinctBy(bound => (JoinId.text(bound.build), bound.isLower, bound.offset))
          .sortBy(bound => (JoinId.text(bound.build), bound.isLower, bound.offset))
        JoinRange(
          buildSide,
          sorted.head.probe,
          sorted.map(_.build),
          RangeBounds(sorted.zipWithIndex.map { case (bound, i) => RangeBound(i, bound.isLower, bound.offset) }),
          sorted.map(_.text),
          None
        )
      }
  }

  /** `probe >= build + offset` or `probe <= build + offset`. */
  private final case class Bound(probe: Expression, build: Expression, isLower: Boolean, offset: Long, text: String)

  private final case class Refused(probe: Expression, build: Expression, text: String, code: ReasonCode) {
    def range(buildSide: Side): JoinRange = JoinRange(buildSide, probe, Seq(build), RangeBounds(Nil), Seq(text), Some(code))
  }

  /** `lesser <= greater`, or `lesser < greater` if it is strict. */
  private final case class Comparison(lesser: Expression, greater: Expression, strict: Boolean, text: String) {

    /** The comparison as a bound of a column of `probe`, or why it is none; nothing unless it compares `probe` with `build`. */
    def between(probe: AttributeSet, build: AttributeSet): Option[Either[Refused, Bound]] = {
      def isOf(expression: Expression, side: AttributeSet): Boolean =
        expression.references.nonEmpty && expression.references.subsetOf(side)
      if (isOf(lesser, probe) && isOf(greater, build)) Some(bound(lesser, greater, isLower = false))
      else if (isOf(greater, probe) && isOf(lesser, build)) Some(bound(greater, lesser, isLower = true))
      else None
    }

    private def bound(probe: Expression, build: Expression, isLower: Boolean): Either[Refused, Bound] = {
      val found = for {
        x <- Sum.of(probe)
        y <- Sum.of(build)
        _ <- Either.cond(x.kind == y.kind, (), ReasonCode.KeyNotPlain)
        // A sum that wraps around may become smaller only on the lesser side and larger only on the greater one: then the comparison is true
        // of the sums without a limit too, and the bound is right.
        _ <- Either.cond(!x.wraps || isLower == (x.offset > 0), (), ReasonCode.KeyNotPlain)
        _ <- Either.cond(!y.wraps || isLower == (y.offset < 0), (), ReasonCode.KeyNotPlain)
      } yield {
        // All types are discrete.
        val strictly = if (!strict) 0L else if (isLower) 1L else -1L
        Bound(x.column, y.column, isLower, y.offset - x.offset + strictly, text)
      }
      found.left.map(Refused(probe, build, text, _))
    }
  }

  private object Comparison {
    def of(condition: Expression): Option[Comparison] = condition match {
      case Less(lesser, greater, strict) => Some(Comparison(lesser, greater, strict, condition.sql))
      case _                             => None
    }
  }

  /** A column plus a constant.
    *
    * @param wraps
    *   whether a sum outside of the type continues at the type's other end. Any other such sum has no value, and no comparison with it is
    *   true.
    */
  private final case class Sum(column: Expression, kind: KeyKind, offset: Long, wraps: Boolean)

  private object Sum {

    /** Larger constants could overflow when they are added up. */
    private val MaxOffset = 1L << 50

    def of(expression: Expression): Either[ReasonCode, Sum] = expression match {
      case add @ Add(column, Whole(constant), _)            => plus(column, constant, add.evalMode)
      case add @ Add(Whole(constant), column, _)            => plus(column, constant, add.evalMode)
      case subtract @ Subtract(column, Whole(constant), _)  => plus(column, -constant, subtract.evalMode)
      case DateAdd(column, Literal(days: Int, IntegerType)) => plain(column, days.toLong, wraps = true)
      case DateSub(column, Literal(days: Int, IntegerType)) => plain(column, -days.toLong, wraps = true)
      case Cast(sum @ (_: Add | _: Subtract), to, _, _) if Wholes.areNumbers(to) && Cast.canUpCast(sum.dataType, to) => of(sum)
      case other => plain(other, 0L, wraps = false)
    }

    private def plus(column: Expression, constant: Long, mode: EvalMode.Value): Either[ReasonCode, Sum] =
      if (Wholes.areNumbers(column.dataType)) plain(column, constant, wraps = mode == EvalMode.LEGACY) else Left(ReasonCode.KeyNotPlain)

    private def plain(column: Expression, offset: Long, wraps: Boolean): Either[ReasonCode, Sum] = for {
      plain <- PlainKey.of(column).left.map(_.code)
      _ <- Either.cond(Wholes.areOrdered(plain.attribute.dataType), (), ReasonCode.UnsupportedKeyType)
    } yield Sum(column, plain.kind, offset, wraps && offset != 0)

    private object Whole {
      def unapply(literal: Literal): Option[Long] = Some(literal).filter(one => Wholes.areNumbers(one.dataType)).map(_.value).collect {
        case number: Number if math.abs(number.longValue) < MaxOffset && number.longValue != Long.MinValue => number.longValue
      }
    }
  }
}
