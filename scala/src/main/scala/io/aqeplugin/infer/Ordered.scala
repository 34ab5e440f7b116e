package io.aqeplugin.infer

import scala.collection.Searching.{Found, InsertionPoint}

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types._

import io.aqeplugin.observe.{Less, Wholes}

/** Values of one ordered type as numbers in the same order. Floating-point types have none: -0.0 and 0.0 are equal and are not the same. */
private[infer] sealed abstract class Scale {

  /** The values of a column of `dataType`. */
  def domain(dataType: DataType): Domain
  def position(literal: Literal): Option[Long]

  /** The value at a position that [[position]] gave, or that is between two of them if the domain is discrete. */
  def literal(position: Long, dataType: DataType): Literal
}

private[infer] object Scale {

  /** Integers of all widths: a cast to a wider one keeps the value. */
  case object Whole extends Scale {
    override def domain(dataType: DataType): Domain = dataType match {
      case ByteType    => Domain(Byte.MinValue.toLong, Byte.MaxValue.toLong, isDiscrete = true)
      case ShortType   => Domain(Short.MinValue.toLong, Short.MaxValue.toLong, isDiscrete = true)
      case IntegerType => Domain(Int.MinValue.toLong, Int.MaxValue.toLong, isDiscrete = true)
      case _           => Domain(Long.MinValue, Long.MaxValue, isDiscrete = true)
    }
    override def position(literal: Literal): Option[Long] = Some(literal.value).collect { case number: Number => number.longValue }
    override def literal(position: Long, dataType: DataType): Literal = dataType match {
      case ByteType    => Literal(position.toByte, ByteType)
      case ShortType   => Literal(position.toShort, ShortType)
      case IntegerType => Literal(position.toInt, IntegerType)
      case _           => Literal(position, LongType)
    }
  }

  case object Dates extends Scale {
    override def domain(dataType: DataType): Domain = Domain(Int.MinValue.toLong, Int.MaxValue.toLong, isDiscrete = true)
    override def position(literal: Literal): Option[Long] = Some(literal.value).collect { case days: Int => days.toLong }
    override def literal(position: Long, dataType: DataType): Literal = Literal(position.toInt, DateType)
  }

  /** Any other type: the position of a value is its rank among the literals of the conditions. */
  final class Ranks(dataType: DataType, literals: Seq[Literal]) extends Scale {
    private val order: Ordering[Any] = TypeUtils.getInterpretedOrdering(dataType)
    private val sorted: Vector[Any] = literals.map(_.value).sorted(order).foldLeft(Vector.empty[Any]) { (kept, value) =>
      if (kept.lastOption.exists(order.equiv(_, value))) kept else kept :+ value
    }
    override def domain(dataType: DataType): Domain = Domain(Long.MinValue, Long.MaxValue, isDiscrete = false)
    override def position(literal: Literal): Option[Long] = sorted.search(literal.value)(order) match {
      case Found(index)      => Some(index.toLong)
      case InsertionPoint(_) => None
    }
    override def literal(position: Long, dataType: DataType): Literal = Literal(sorted(position.toInt), dataType)
  }

  def isWhole(dataType: DataType): Boolean = Wholes.areNumbers(dataType)

  def isRanked(dataType: DataType): Boolean = dataType match {
    case TimestampType | TimestampNTZType | _: DecimalType => true
    case string: StringType                                => SparkBridge.isComparedByBytes(string)
    case _                                                 => false
  }
}

/** What conditions on ordered columns say of each column.
  *
  * @param conditions
  *   all conditions whose constants may occur
  */
private[infer] final class Ordered(conditions: Seq[Expression]) {
  private lazy val literals: Map[DataType, Seq[Literal]] = conditions.flatMap(Ordered.constants).groupBy(_.dataType)

  private val ranks = scala.collection.concurrent.TrieMap.empty[DataType, Scale]

  private def scaleOf(dataType: DataType): Option[Scale] =
    if (Scale.isWhole(dataType)) Some(Scale.Whole)
    else if (dataType == DateType) Some(Scale.Dates)
    else if (Scale.isRanked(dataType)) Some(ranks.getOrElseUpdate(dataType, new Scale.Ranks(dataType, literals.getOrElse(dataType, Nil))))
    else None

  /** The values that each column has in rows for which all of `given` are true; None if there is no such row.
    *
    * @param of
    *   some of the conditions, or parts of them
    */
  def intervals(of: Seq[Expression]): Option[Map[ExprId, Interval]] = {
    val problem = new Problem
    of.foreach(problem.add)
    problem.solve
  }

  /** The conditions on `column` that `interval` says and `known` does not. */
  def conditions(column: Attribute, interval: Interval, known: Interval): Seq[Expression] = {
    def at(limit: End): Option[Literal] =
      scaleOf(column.dataType).filter(_ != Scale.Dates || Ordered.isCommonDate(limit.value)).map(_.literal(limit.value, column.dataType))
    val both = interval.meet(known)
    (both.low, both.high) match {
      case (Some(low), Some(high)) if low == high && both != known => at(low).map(EqualTo(column, _)).toSeq
      case (low, high)                                             =>
        val above = low.filterNot(known.low.contains).flatMap { limit =>
          at(limit).map(value => if (limit.strict) GreaterThan(column, value) else GreaterThanOrEqual(column, value))
        }
        val below = high.filterNot(known.high.contains).flatMap { limit =>
          at(limit).map(value => if (limit.strict) LessThan(column, value) else LessThanOrEqual(column, value))
        }
        above.toSeq ++ below
    }
  }

  /** The column and its values if `condition` is true for exactly these values of it and nothing else. */
  def exactly(condition: Expression): Option[(ExprId, Interval)] = condition match {
    case comparison: BinaryComparison if !comparison.isInstanceOf[EqualNullSafe] =>
      val isOneColumn = Seq(comparison.left, comparison.right).collect { case a: Attribute => a }.size == 1
      val isConstant = Seq(comparison.left, comparison.right).exists(_.isInstanceOf[Literal])
      if (isOneColumn && isConstant) intervals(Seq(condition)).filter(_.size == 1).flatMap(_.headOption) else None
    case _ => None
  }

  /** Collects comparisons; columns and constants get numbers, those of one scale in one [[Bounds]] problem. */
  private final class Problem {
    private val columns = scala.collection.mutable.LinkedHashMap.empty[(Scale, Either[ExprId, Long]), Int]
    private val domains = Vector.newBuilder[Domain]
    private val comparisons = Vector.newBuilder[AtMost]
    private val start = scala.collection.mutable.Map.empty[Int, Interval]

    def solve: Option[Map[ExprId, Interval]] =
      Bounds.of(domains.result(), start.toMap, comparisons.result()).map { found =>
        columns.collect { case ((_, Left(id)), number) if found.contains(number) => id -> found(number) }.toMap
      }

    def add(condition: Expression): Unit = condition match {
      case And(left, right)     => add(left); add(right)
      case EqualTo(left, right) => compare(left, right, strict = false); compare(right, left, strict = false)
      case EqualNullSafe(left, right) if !mayBecomeNull(left) && !mayBecomeNull(right) =>
        compare(left, right, strict = false); compare(right, left, strict = false)
      case Less(lesser, greater, strict) => compare(lesser, greater, strict)
      case Constants(value, list)        => oneOf(value, list)
      case _: Or                         => anyOf(Conditions.disjuncts(condition))
      case _                             =>
    }

    /** Whether the value may be null although no column in it is: then a null may equal a null. */
    private def mayBecomeNull(expression: Expression): Boolean = expression.exists {
      case literal: Literal   => literal.value == null
      case sum: Add           => sum.evalMode == EvalMode.TRY
      case subtract: Subtract => subtract.evalMode == EvalMode.TRY
      case _                  => false
    }

    private def number(scale: Scale, what: Either[ExprId, Long], domain: => Domain): Int = columns.getOrElseUpdate(
      (scale, what), {
        domains += domain
        columns.size
      }
    )

    private def narrow(column: Attribute, scale: Scale, by: Interval): Unit = {
      val index = number(scale, Left(column.exprId), scale.domain(column.dataType))
      start(index) = start.getOrElse(index, Interval.All).meet(by)
    }

    private def compare(lesser: Expression, greater: Expression, strict: Boolean): Unit = {
      val difference = (lesser, greater) match {
        case (Difference(first, second), constant: Literal) =>
          for { a <- term(first); b <- term(second); c <- offset(constant) } yield (a, moved(b, c))
        case (constant: Literal, Difference(first, second)) =>
          for { a <- term(first); b <- term(second); c <- offset(constant) } yield (moved(b, c), a)
        case _ => for { a <- term(lesser); b <- term(greater) } yield (a, b)
      }
      difference.foreach { case ((scale, a), (other, b)) => if (scale == other) comparisons += AtMost(a, b, strict) }
    }

    private def moved(term: (Scale, Term), by: Long): (Scale, Term) = (term._1, term._2.copy(offset = term._2.offset + by))

    private def offset(constant: Literal): Option[Long] =
      if (Scale.isWhole(constant.dataType) && constant.value != null) Scale.Whole.position(constant).filter(Ordered.isSmall) else None

    private def term(expression: Expression): Option[(Scale, Term)] = expression match {
      case literal: Literal if literal.value != null =>
        for { scale <- scaleOf(literal.dataType); position <- scale.position(literal) } yield {
          val index =
            number(scale, Right(position), Domain(Long.MinValue, Long.MaxValue, isDiscrete = scale.domain(literal.dataType).isDiscrete))
          val limit = Some(End(position, strict = false))
          start(index) = Interval(limit, limit)
          (scale, Term(index))
        }
      case column: Attribute =>
        scaleOf(column.dataType).map(scale => (scale, Term(number(scale, Left(column.exprId), scale.domain(column.dataType)))))
      case Cast(child, to, _, _) if Scale.isWhole(to) && Scale.isWhole(child.dataType) && Cast.canUpCast(child.dataType, to) => term(child)
      case Sum(number, constant)                                     => term(number).map(moved(_, constant))
      case DateAdd(date: Attribute, Literal(days: Int, IntegerType)) => wrapping(date, days.toLong)
      case DateSub(date: Attribute, Literal(days: Int, IntegerType)) => wrapping(date, -days.toLong)
      case _                                                         => None
    }

    private def wrapping(date: Attribute, days: Long): Option[(Scale, Term)] =
      term(date).map { case (scale, t) => (scale, t.copy(offset = days, wraps = true)) }

    private def oneOf(value: Expression, list: Seq[Literal]): Unit = value match {
      case column: Attribute =>
        scaleOf(column.dataType).foreach { scale =>
          val positions = Ordered.outermost(list).map(scale.position)
          if (positions.nonEmpty && positions.forall(_.isDefined)) {
            val known = positions.flatten
            narrow(column, scale, Interval(Some(End(known.min, strict = false)), Some(End(known.max, strict = false))))
          }
        }
      case _ =>
    }

    /** A column that every branch bounds is between the outermost of these bounds. */
    private def anyOf(branches: Seq[Expression]): Unit = {
      // A branch that is never true adds no values.
      val possible = branches.flatMap(branch => intervals(Seq(branch)))
      val columns = branches.flatMap(_.references).distinct
      if (possible.nonEmpty) columns.foreach { column =>
        val each = possible.map(_.getOrElse(column.exprId, Interval.All))
        val all = each.reduce(_.hull(_))
        if (all != Interval.All) scaleOf(column.dataType).foreach(narrow(column, _, all))
      }
    }
  }

  /** An integer plus a constant. A sum that overflows is null or fails the query; in any case, no comparison with it is true. */
  private object Sum {
    def unapply(expression: Expression): Option[(Expression, Long)] = expression match {
      case add: Add if isChecked(add) => constant(add.right).map((add.left, _)).orElse(constant(add.left).map((add.right, _)))
      case subtract: Subtract if isChecked(subtract) => constant(subtract.right).map(value => (subtract.left, -value))
      case _                                         => None
    }

    private def constant(expression: Expression): Option[Long] = expression match {
      case literal: Literal if literal.value != null => Scale.Whole.position(literal).filter(Ordered.isSmall)
      case _                                         => None
    }
  }

  private object Difference {
    def unapply(expression: Expression): Option[(Expression, Expression)] = expression match {
      case subtract: Subtract if isChecked(subtract) && !subtract.right.isInstanceOf[Literal] => Some((subtract.left, subtract.right))
      case _                                                                                  => None
    }
  }

  // The mode of their common class is protected in Spark 4.0.
  private def isChecked(sum: Add): Boolean = Scale.isWhole(sum.dataType) && sum.evalMode != EvalMode.LEGACY
  private def isChecked(sum: Subtract): Boolean = Scale.isWhole(sum.dataType) && sum.evalMode != EvalMode.LEGACY
}

/** A value and the constants that it is one of, without nulls. */
private[infer] object Constants {
  def unapply(condition: Expression): Option[(Expression, Seq[Literal])] = condition match {
    case In(value, list) if list.forall(_.isInstanceOf[Literal]) =>
      Some((value, list.collect { case literal: Literal if literal.value != null => literal }))
    case InSet(value, values) => Some((value, values.toSeq.filter(_ != null).map(Literal(_, value.dataType))))
    case _                    => None
  }
}

private[infer] object Ordered {

  /** Of a longer list, only the least and the greatest constant count: a query may have one of a hundred thousand. */
  private val LongList = 32

  /** The constants whose order counts. */
  private def constants(condition: Expression): Seq[Literal] = condition match {
    case literal: Literal       => Seq(literal).filter(_.value != null)
    case Constants(value, list) => constants(value) ++ (if (list.size > LongList) outermost(list) else list)
    case other                  => other.children.flatMap(constants)
  }

  /** The least and the greatest of some constants of one type; all of them if the type has no order. */
  private def outermost(list: Seq[Literal]): Seq[Literal] = list.headOption.map(_.dataType) match {
    case Some(dataType) if RowOrdering.isOrderable(dataType) && list.forall(_.dataType == dataType) =>
      val order = TypeUtils.getInterpretedOrdering(dataType).on[Literal](_.value)
      Seq(list.min(order), list.max(order))
    case _ => list
  }

  /** Whether several such constants can be added up without overflow. */
  def isSmall(constant: Long): Boolean = constant.abs < (1L << 50)

  /** Whether the day is in the years 1 to 9999: file formats fail on constants that are far outside of them. */
  def isCommonDate(days: Long): Boolean = days >= -719162L && days <= 2932896L
}
