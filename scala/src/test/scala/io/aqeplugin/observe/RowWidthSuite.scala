package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

class RowWidthSuite extends AnyFunSuite {

  private def column(dataType: DataType): AttributeReference = AttributeReference("c", dataType)()

  private val number = column(LongType)
  private val wide = column(DecimalType(38, 2))
  private val text = column(StringType)
  private val bytes = column(BinaryType)

  private def width(stage: Seq[AttributeReference], output: Seq[AttributeReference], measured: Option[Long]): RowWidth =
    RowWidth.above(stage, measured, output)(column => stage.find(_.exprId == column.exprId))

  test("fixed-width columns keep their width, however wide the stage's rows are") {
    assert(width(Seq(number, text), Seq(number), Some(5000)) == RowWidth(16, 0))
    assert(width(Nil, Seq(number, wide), Some(5000)) == RowWidth(40, 0), "a decimal of more than a word takes two more")
  }

  test("strings have the stage's row bytes minus its fixed-width columns") {
    assert(width(Seq(number, number.newInstance(), text), Seq(number, text), Some(1032)) == RowWidth(1024, 0))
  }

  test("dropping fixed-width columns does not shorten strings") {
    val numbers = Seq.fill(60)(column(LongType))
    assert(width(numbers :+ text, Seq(text), Some(8 + 61 * 8 + 10000)) == RowWidth(8 + 8 + 10000, 0))
  }

  test("each of two strings may have all of the variable bytes") {
    assert(width(Seq(text, bytes), Seq(bytes), Some(1024)) == RowWidth(1016, 0))
  }

  test("a column whose bytes are known counts with these") {
    assert(RowWidth.ofRow(Seq(number, text)) == 8 + 8 + 20)
    assert(RowWidth.ofRow(Seq(number, text), column => Option.when(column.dataType == StringType)(RowWidth.ofValue(3))) == 8 + 8 + 16)
    assert(RowWidth.ofValue(0) == 8 && RowWidth.ofValue(8) == 16 && RowWidth.ofValue(9) == 24)
  }

  test("strings without measured bytes or computed above the stage are unmeasured") {
    assert(width(Seq(number, text), Seq(number, text), None).unmeasuredColumns == 1)
    assert(width(Seq(number), Seq(number, text, bytes), Some(16)).unmeasuredColumns == 2)
    assert(width(Seq(number, text), Seq(number, text, bytes), Some(1024)).unmeasuredColumns == 1)
  }
}
