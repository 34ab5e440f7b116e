package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.ReasonCode

/** Which expressions are keys of a filter, and what is known of them without a plan. */
class JoinKeySuite extends AnyFunSuite {

  private def column(name: String, dataType: DataType = IntegerType) = AttributeReference(name, dataType)()
  private val a = column("a")
  private val b = column("b")
  private val text = column("t", StringType)

  private def reasonOf(key: Expression): Option[ReasonCode] = JoinKey.of(key).left.toOption.map(_.code)

  test("a column and an expression of one column are keys") {
    assert(JoinKey.of(a).exists(key => !key.isComputed && key.column == a))
    assert(JoinKey.of(Cast(a, LongType)).exists(key => !key.isComputed && key.kind == KeyKind.Integral))
    assert(JoinKey.of(Upper(text)).exists(key => key.isComputed && key.column == text && key.kind == KeyKind.BinaryString))
  }

  test("expressions of two columns, of none, of a user and of chance are no keys") {
    assert(reasonOf(Add(a, b)).contains(ReasonCode.KeyNotPlain))
    assert(reasonOf(Literal(1)).contains(ReasonCode.KeyNotPlain))
    assert(reasonOf(ScalaUDF((n: Int) => n, IntegerType, Seq(a))).contains(ReasonCode.KeyNotPlain))
    assert(reasonOf(Add(a, Cast(Rand(Literal(1L)), IntegerType))).contains(ReasonCode.KeyNotPlain))
    assert(reasonOf(CreateArray(Seq(a))).contains(ReasonCode.UnsupportedKeyType))
  }

  test("an expression that is too long to be computed for each row is no key") {
    assert(reasonOf((1 to 100).foldLeft[Expression](a)((sum, n) => Add(sum, Literal(n)))).contains(ReasonCode.KeyNotPlain))
  }

  test("a function of null is null unless it has a value in its place") {
    val nullOfNull = Seq(a, Upper(text), Cast(a, StringType), Add(a, Literal(1)))
    val valueOfNull = Seq(Coalesce(Seq(a, Literal(0))), IsNull(a), Concat(Seq(Coalesce(Seq(text, Literal(""))), Literal("x"))))
    assert(nullOfNull.forall(JoinKey.of(_).exists(_.isNullOfNull)))
    assert(valueOfNull.forall(JoinKey.of(_).exists(!_.isNullOfNull)))
  }

  test("of several keys, those count that a filter can hold, and not whether they are null beside their values") {
    def valueOf(key: Expression): Expression = Coalesce(Seq(key, Literal(0)))
    val nullSafe = Seq((valueOf(a), valueOf(b)), (IsNull(a), IsNull(b)))
    val ofTwoColumns = (column("c"), Add(a, b))
    assert(HeldKeys.of(nullSafe).contains(HeldKeys(Seq(valueOf(a)), Seq(valueOf(b)), Seq(IsNull(b)))))
    assert(HeldKeys.of(ofTwoColumns +: nullSafe).exists(_.leftOut == Seq(Add(a, b), IsNull(b))))
    assert(HeldKeys.of(Seq((IsNull(a), IsNull(b)))).exists(_.build == Seq(IsNull(a))))
    assert(HeldKeys.of(Seq(ofTwoColumns)).left.toOption.map(_.code).contains(ReasonCode.KeyNotPlain))
  }

  test("what may throw is computed of probe rows alone") {
    val throws = Cast(text, IntegerType, ansiEnabled = true)
    assert(HeldKeys.of(Seq((a, throws))).exists(_.probe == Seq(throws)))
    assert(HeldKeys.of(Seq((throws, a))).left.toOption.map(_.code).contains(ReasonCode.KeyNotPlain))
    assert(HeldKeys.of(Seq((throws, a), (b, column("c")))).exists(held => held.build == Seq(b) && held.leftOut == Seq(a)))
  }

  test("what a build row's value is extracted from must be there for every row") {
    val element = GetArrayItem(column("variants", ArrayType(VariantType)), Literal(5), failOnError = true)
    def extracted(of: Expression) = VariantGet(of, Literal("$.k"), IntegerType, failOnError = true)
    assert(HeldKeys.of(Seq((extracted(column("v", VariantType)), a))).isRight)
    assert(HeldKeys.of(Seq((extracted(element), a))).left.toOption.map(_.code).contains(ReasonCode.KeyNotPlain))
    assert(HeldKeys.of(Seq((Cast(element, IntegerType, ansiEnabled = true), a))).left.toOption.map(_.code).contains(ReasonCode.KeyNotPlain))
  }

  test("what takes long for a row is no key") {
    assert(reasonOf(GetJsonObject(text, Literal("$.user"))).contains(ReasonCode.KeyNotPlain))
    assert(reasonOf(DateFormatClass(column("d", TimestampType), Literal("yyyy"), Some("UTC"))).contains(ReasonCode.KeyNotPlain))
  }

  test("numbered keys are equal for equal keys of equal plans, and different for others") {
    val (a2, b2) = (a.newInstance(), b.newInstance())
    def numbered(key: Attribute, output: Seq[Attribute]) = JoinKey.numbered(Seq(Coalesce(Seq(key, Literal(0)))), output)
    assert(numbered(a, Seq(a, b)) == numbered(a2, Seq(a2, b2)))
    assert(numbered(a, Seq(a, b)) != numbered(b, Seq(a, b)))
    assert(numbered(a, Seq(a, b)) != JoinKey.numbered(Seq(a), Seq(a, b)))
  }

  test("the name of a key leaves out what Spark puts around a column") {
    assert(JoinKey.nameOf(a) == "a")
    assert(JoinKey.nameOf(Upper(text.withQualifier(Seq("q")))) == "upper(t)")
    assert(JoinKey.nameOf(KnownFloatingPointNormalized(NormalizeNaNAndZero(column("x", DoubleType)))) == "x")
  }

}
