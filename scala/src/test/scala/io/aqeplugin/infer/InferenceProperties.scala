package io.aqeplugin.infer

import scala.util.{Random, Try}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.Extent

/** Random conditions over three sides, each compared with all rows of small domains that have nulls and the ends of the types. */
class InferenceProperties extends AnyFunSuite {
  import InferenceProperties._

  private val Seeds = 1 to Extent.cases(sample = 800, whole = 10000)

  test("an inferred predicate is true in every row of its side that counts, and fails in no row") {
    var inferred = 0
    for (seed <- Seeds) {
      val known = new Case(seed)
      for (side <- Sides; predicate <- known.predicates(side)) {
        inferred += 1
        val clue = s"seed $seed: ${predicate.condition.sql} by ${predicate.by.name} for ${known.conditions.map(_.sql).mkString(" AND ")}"
        for (row <- known.rowsThatCount) assert(known.isTrue(predicate.condition, row), s"$row of $clue")
        for (row <- known.rows) assert(known.valueOf(predicate.condition, row).isSuccess, s"$row of $clue")
      }
    }
    assert(inferred > Seeds.size / 4)
  }

  test("a few rounds reach a fixed point, which is the same in whatever order the conditions come") {
    for (seed <- Seeds) {
      val known = new Case(seed)
      val settled =
        Iterator.iterate(Sides.map(_ -> Seq.empty[Expression]).toMap)(known.extended(_, known.conditions)).sliding(2).take(Rounds)
          .collectFirst { case Seq(before, after) if before == after => before }
      val added = settled.getOrElse(fail(s"seed $seed: no fixed point of ${known.conditions.map(_.sql)}"))
      val again = known.extended(added, new Random(seed).shuffle(known.conditions))
      assert(again == added, s"seed $seed: ${known.conditions.map(_.sql)}")
    }
  }
}

object InferenceProperties {

  /** As many as the rule tries. */
  private val Rounds = 8

  val Sides: Seq[Int] = Seq(0, 1, 2)

  private val Values: Map[DataType, Seq[Any]] = Map(
    IntegerType -> Seq(null, -1, 2, 5),
    ByteType -> Seq[Any](null, Byte.MinValue, 0.toByte, Byte.MaxValue),
    DateType -> Seq(null, Int.MinValue, 3, Int.MaxValue),
    StringType -> Seq(null, UTF8String.fromString("a"), UTF8String.fromString("b"))
  )

  private val Columns: Seq[Seq[AttributeReference]] = Sides.map { side =>
    Seq[(String, DataType)]("i" -> IntegerType, "j" -> IntegerType, "y" -> ByteType, "d" -> DateType, "s" -> StringType).map {
      case (name, of) =>
        AttributeReference(s"$name$side", of)(exprId = NamedExpression.newExprId)
    }
  }

  def columnsOf(side: Int): Seq[AttributeReference] = Columns(side)

  final class Case(seed: Int) {
    private val random = new Random(seed)
    // Few columns, so that all rows can be tried and conditions meet.
    private val pool = random.shuffle(Columns.flatten).filter {
      val types = random.shuffle(Values.keys.toSeq).take(2).toSet
      column => types(column.dataType)
    }.take(5)

    private def oneOf[A](options: Seq[A]): A = options(random.nextInt(options.size))

    val conditions: Seq[Expression] = Seq.fill(1 + random.nextInt(4))(condition(2)).filter(_.references.nonEmpty)

    /** The conditions on one side alone, which Spark has pushed. */
    def own(side: Int): Seq[Expression] = conditions.filter(_.references.subsetOf(AttributeSet(columnsOf(side))))

    private val knowledge = Knowledge.empty(Set.empty).plus(conditions.flatMap(Conditions.conjuncts))

    def predicates(side: Int): Seq[InferredPredicate] = new Inference(columnsOf(side), own(side), own(side), knowledge).predicates

    /** What each side has after another round, in which the others know what was added. */
    def extended(added: Map[Int, Seq[Expression]], conditions: Seq[Expression]): Map[Int, Seq[Expression]] = {
      val all = Knowledge.empty(Set.empty).plus((conditions ++ Sides.flatMap(added)).flatMap(Conditions.conjuncts))
      added.map { case (side, before) =>
        side -> (before ++ new Inference(columnsOf(side), own(side), own(side) ++ before, all).predicates.map(_.condition))
      }
    }

    private val used = pool.filter(column => conditions.exists(_.references.contains(column)))

    lazy val rows: Seq[Seq[Any]] =
      used.foldLeft(Seq(Seq.empty[Any]))((all, column) => all.flatMap(row => Values(column.dataType).map(row :+ _)))

    lazy val rowsThatCount: Seq[Seq[Any]] = rows.filter(row => conditions.forall(isTrue(_, row)))

    def isTrue(condition: Expression, row: Seq[Any]): Boolean = valueOf(condition, row).toOption.contains(true)

    def valueOf(condition: Expression, row: Seq[Any]): Try[Any] = Try {
      bound.getOrElseUpdate(condition, BindReferences.bindReference(condition, AttributeSeq(used))).eval(InternalRow.fromSeq(row))
    }

    private lazy val bound = scala.collection.mutable.HashMap.empty[Expression, Expression]

    private def condition(depth: Int): Expression =
      if (depth == 0) leaf
      else
        random.nextInt(8) match {
          case 0 | 1 => Or(condition(depth - 1), condition(depth - 1))
          case 2     => Or(And(condition(depth - 1), leaf), And(leaf, condition(depth - 1)))
          case 3     => And(condition(depth - 1), condition(depth - 1))
          case 4     => Not(condition(depth - 1))
          case _     => leaf
        }

    private def leaf: Expression = {
      val column = oneOf(pool)
      val other = oneOf(pool.filter(_.dataType == column.dataType))
      def constant: Literal = Literal(oneOf(Values(column.dataType).filter(_ != null)), column.dataType)
      random.nextInt(10) match {
        case 0     => compared(column, constant)
        case 1     => In(column, Seq(constant, constant, if (random.nextBoolean()) constant else Literal(null, column.dataType)))
        case 2     => if (random.nextBoolean()) IsNull(column) else IsNotNull(column)
        case 3     => EqualNullSafe(column, oneOf(Seq(other, constant)))
        case 4 | 5 => compared(column, moved(other))
        case 6     => EqualTo(column, other)
        case 7     => difference(column, other)
        case _     => compared(column, other)
      }
    }

    private def compared(left: Expression, right: Expression): Expression = random.nextInt(5) match {
      case 0 => EqualTo(left, right)
      case 1 => LessThan(left, right)
      case 2 => LessThanOrEqual(left, right)
      case 3 => GreaterThan(left, right)
      case _ => GreaterThanOrEqual(left, right)
    }

    private def mode: EvalMode.Value = oneOf(Seq(EvalMode.ANSI, EvalMode.LEGACY, EvalMode.TRY))

    private def moved(column: Attribute): Expression = column.dataType match {
      case IntegerType =>
        if (random.nextBoolean()) sum(column, Literal(random.nextInt(5) - 2)) else minus(column, Literal(random.nextInt(5) - 2))
      case ByteType => sum(column, Literal((random.nextInt(5) - 2).toByte))
      case DateType =>
        if (random.nextBoolean()) DateAdd(column, Literal(random.nextInt(9) - 4)) else DateSub(column, Literal(random.nextInt(9) - 4))
      case _ => column
    }

    private def difference(a: Attribute, b: Attribute): Expression = a.dataType match {
      case IntegerType => compared(minus(a, b), Literal(random.nextInt(9) - 4))
      case ByteType    => compared(Cast(a, IntegerType), Cast(b, IntegerType))
      case StringType  => Like(a, Literal(oneOf(Seq("a%", "%b", "_"))), '\\')
      case _           => compared(a, b)
    }

    private def sum(a: Expression, b: Expression): Expression = Add(a, b, mode)
    private def minus(a: Expression, b: Expression): Expression = Subtract(a, b, mode)
  }
}
