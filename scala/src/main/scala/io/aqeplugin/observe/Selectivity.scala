package io.aqeplugin.observe

import scala.util.Try

import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, Statistics}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.FilterEstimation

import io.aqeplugin.decide.EstimateSource

/** A share of rows in [0, 1], and what it was taken from. */
final case class ShareEstimate(value: Double, source: EstimateSource)

/** The share of a table's rows that its predicates keep, from what is known of its columns. */
object Selectivity {

  /** The share that the conditions keep together, and the conditions of which nothing is known.
    *
    * @param output
    *   the columns of the scan
    */
  def of(conditions: Seq[Expression], output: Seq[Attribute], facts: TableFacts): (Option[ShareEstimate], Seq[Expression]) = {
    val analyzed = facts.analyzed.filter(_.colStats.nonEmpty).map(new AnalyzedColumns(_, output))
    val (bySpark, others) = conditions.map(withoutTags).partition(condition => analyzed.exists(_.knows(condition)))
    val (byRange, unknown) = others.partition(keptValues(_, rangeOf(facts)).isDefined)
    val shares = Seq(
      analyzed.filter(_ => bySpark.nonEmpty).flatMap(_.share(bySpark.reduce[Expression](And(_, _))))
        .map(ShareEstimate(_, EstimateSource.ColumnStatistics)),
      byRange.reduceOption[Expression](And(_, _)).flatMap(byRanges(_, rangeOf(facts))).map(ShareEstimate(_, EstimateSource.ColumnRange))
    ).flatten
    (shares.reduceOption((a, b) => ShareEstimate(a.value * b.value, EstimateSource.leastSure(a.source, b.source))), unknown)
  }

  /** A tag tells Spark's optimizer something of an expression and leaves its value. */
  private def withoutTags(condition: Expression): Expression = condition.transform { case tag: TaggingExpression => tag.child }

  /** The share that a condition keeps when every value between the least and the greatest of a column occurs equally often, and columns are
    * independent; none when the range of a column is not known, or a comparison is not one of an integer, date or timestamp column with a
    * constant. Whether a timestamp equals a constant is none either.
    */
  def byRanges(condition: Expression, range: Attribute => Option[(Long, Long)]): Option[Double] = keptValues(condition, range).map(_.share)

  private def rangeOf(facts: TableFacts)(column: Attribute): Option[(Long, Long)] =
    facts.ranges.get(column.name).filter { case (low, high) => low <= high }

  /** What a condition keeps. */
  private sealed trait Kept { def share: Double }

  private final case class Share(share: Double) extends Kept

  /** Values of one column.
    *
    * @param spans
    *   disjoint and ascending, both ends included, inside the range of the column
    */
  private final case class Values(column: ExprId, range: (Long, Long), spans: Seq[(Long, Long)]) extends Kept {
    override def share: Double = math.min(1.0, spans.map(width).sum / width(range))
  }

  private def width(span: (Long, Long)): Double = span._2.toDouble - span._1.toDouble + 1

  private def keptValues(condition: Expression, range: Attribute => Option[(Long, Long)]): Option[Kept] = {
    def values(column: Attribute, spans: Seq[(Long, Long)]): Option[Kept] = range(column).map { known =>
      val inside = spans.map { case (low, high) => (math.max(low, known._1), math.min(high, known._2)) }
      Values(column.exprId, known, union(inside.filter { case (low, high) => low <= high }))
    }
    // Of a time, few microseconds occur: many tables have whole seconds or days.
    def points(column: Attribute, found: Seq[Long]): Option[Kept] =
      if (Wholes.areTimestamps(column.dataType)) None else values(column, found.map(value => (value, value)))
    def compared(column: Attribute, value: Long, isAbove: Boolean, includes: Boolean): Option[Kept] =
      if (isAbove && !includes && value == Long.MaxValue || !isAbove && !includes && value == Long.MinValue) values(column, Nil)
      else if (isAbove) values(column, Seq((if (includes) value else value + 1, Long.MaxValue)))
      else values(column, Seq((Long.MinValue, if (includes) value else value - 1)))
    condition match {
      case And(left, right) =>
        for (a <- conjunction(left, range); b <- conjunction(right, range)) yield together(a ++ b)
      case Or(left, right) =>
        for (a <- keptValues(left, range); b <- keptValues(right, range)) yield (a, b) match {
          case (one: Values, other: Values) if one.column == other.column => one.copy(spans = union(one.spans ++ other.spans))
          case _                                                          => Share(a.share + b.share - a.share * b.share)
        }
      case Not(child) => keptValues(child, range).map {
          case one: Values => one.copy(spans = complement(one.range, one.spans))
          case other       => Share(1 - other.share)
        }
      case EqualTo(Column(column), Constant(value))      => points(column, Seq(value))
      case EqualTo(Constant(value), Column(column))      => points(column, Seq(value))
      case Less(Column(column), Constant(value), strict) => compared(column, value, isAbove = false, !strict)
      case Less(Constant(value), Column(column), strict) => compared(column, value, isAbove = true, !strict)
      case In(Column(column), list)                      =>
        val found = list.collect { case Constant(value) => value }
        if (found.size == list.size) points(column, found) else None
      case InSet(Column(column), list) =>
        val found = list.toSeq.flatMap(Wholes.of)
        if (found.size == list.size) points(column, found) else None
      case _ => None
    }
  }

  /** The parts of a conjunction, in which conditions on one column are one part. */
  private def conjunction(condition: Expression, range: Attribute => Option[(Long, Long)]): Option[Seq[Kept]] = condition match {
    case And(left, right) => for (a <- conjunction(left, range); b <- conjunction(right, range)) yield a ++ b
    case other            => keptValues(other, range).map(Seq(_))
  }

  private def together(parts: Seq[Kept]): Kept = {
    val columns = parts.collect { case values: Values => values }.groupBy(_.column).values.map(_.reduce { (a, b) =>
      a.copy(spans = complement(a.range, union(complement(a.range, a.spans) ++ complement(a.range, b.spans))))
    }).toSeq
    val others = parts.collect { case share: Share => share }
    if (others.isEmpty && columns.size == 1) columns.head else Share((columns ++ others).map(_.share).product)
  }

  private def union(spans: Seq[(Long, Long)]): Seq[(Long, Long)] =
    spans.sorted.foldLeft(List.empty[(Long, Long)]) {
      case ((low, high) :: before, (nextLow, nextHigh)) if nextLow <= high => (low, math.max(high, nextHigh)) :: before
      case (before, next)                                                  => next :: before
    }.reverse

  /** @param spans
    *   disjoint, ascending and inside `range`
    */
  private def complement(range: (Long, Long), spans: Seq[(Long, Long)]): Seq[(Long, Long)] = {
    val starts = Some(range._1) +: spans.map { case (_, high) => Option.when(high < range._2)(high + 1) }
    val ends = spans.map { case (low, _) => Option.when(low > range._1)(low - 1) } :+ Some(range._2)
    starts.zip(ends).collect { case (Some(low), Some(high)) if low <= high => (low, high) }
  }

  private object Column {
    def unapply(expression: Expression): Option[Attribute] = expression match {
      case column: Attribute if Wholes.areOrdered(column.dataType) => Some(column)
      case _                                                       => None
    }
  }

  private object Constant {
    def unapply(expression: Expression): Option[Long] = expression match {
      case Literal(value, dataType) if Wholes.areOrdered(dataType) => Wholes.of(value)
      case _                                                       => None
    }
  }

  /** The analyzed columns of a table. */
  private final class AnalyzedColumns(statistics: CatalogStatistics, output: Seq[Attribute]) {
    private val leaf = Analyzed(output, statistics.toPlanStats(output, planStatsEnabled = true))

    // An estimation remembers the conditions that it has seen.
    private def estimation(condition: Expression): FilterEstimation = FilterEstimation(Filter(condition, leaf))

    /** Whether Spark estimates every comparison of the condition. It takes the others as keeping every row. */
    def knows(condition: Expression): Boolean = condition match {
      case And(left, right) => knows(left) && knows(right)
      case Or(left, right)  => knows(left) && knows(right)
      case Not(child)       => knows(child)
      case single           => Try(estimation(single).calculateSingleCondition(single, update = false)).toOption.flatten.isDefined
    }

    def share(condition: Expression): Option[Double] =
      Try(estimation(condition).calculateFilterSelectivity(condition)).toOption.flatten.filterNot(_.isNaN).map(math.max(0.0, _)).map(
        math.min(1.0, _)
      )
  }

  private final case class Analyzed(output: Seq[Attribute], statistics: Statistics) extends LeafNode {
    override def computeStats(): Statistics = statistics
  }
}
