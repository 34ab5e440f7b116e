package io.aqeplugin.exec

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.aqeplugin.FilledVectors
import org.apache.spark.sql.execution.vectorized._
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class CompactedVectorsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val plain: Seq[(DataType, Gen[Any])] = Seq(
    BooleanType -> Gen.oneOf(true, false),
    ByteType -> Gen.choose(Byte.MinValue, Byte.MaxValue),
    ShortType -> Gen.choose(Short.MinValue, Short.MaxValue),
    IntegerType -> Gen.choose(Int.MinValue, Int.MaxValue),
    LongType -> Gen.choose(Long.MinValue, Long.MaxValue),
    FloatType -> Gen.oneOf(0.0f, -0.0f, 1.5f, Float.NaN),
    DoubleType -> Gen.oneOf(0.0, -0.0, 1.5, Double.NaN),
    StringType -> Gen.oneOf(Gen.const(""), Gen.alphaNumStr),
    BinaryType -> Gen.alphaStr.map(_.getBytes),
    DecimalType(5, 2) -> Gen.choose(-99999L, 99999L).map(n => java.math.BigDecimal.valueOf(n, 2)),
    DecimalType(15, 3) -> Gen.choose(-999999999L, 999999999L).map(n => java.math.BigDecimal.valueOf(n, 3)),
    DecimalType(30, 1) -> Gen.choose(Long.MinValue, Long.MaxValue).map(n => new java.math.BigDecimal(java.math.BigInteger.valueOf(n), 1)),
    DateType -> Gen.choose(-10000, 30000).map(n => java.sql.Date.valueOf(java.time.LocalDate.ofEpochDay(n.toLong))),
    TimestampType -> Gen.choose(0L, 1000000000L).map(n => new java.sql.Timestamp(n * 1000L))
  )

  private val nested: Seq[(DataType, Gen[Any])] = Seq(
    StructType(Seq(
      StructField("a", IntegerType),
      StructField("b", StringType),
      StructField("c", StructType(Seq(StructField("d", LongType))))
    )) ->
      (for { a <- Gen.option(Gen.choose(0, 9)); b <- Gen.option(Gen.alphaStr); d <- Gen.option(Gen.choose(0L, 9L)) } yield Row(
        a.getOrElse(null),
        b.orNull,
        Row(d.getOrElse(null))
      )),
    ArrayType(StringType) -> Gen.listOf(Gen.alphaStr),
    ArrayType(StructType(Seq(StructField("x", IntegerType)))) -> Gen.listOf(Gen.choose(0, 9).map(Row(_))),
    MapType(IntegerType, StringType) -> Gen.mapOf(Gen.zip(Gen.choose(0, 5), Gen.alphaStr)),
    StructType(Seq(StructField("list", ArrayType(IntegerType)))) -> Gen.listOf(Gen.choose(0, 9)).map(Row(_))
  )

  private val schema = StructType((plain ++ nested).zipWithIndex.map { case ((dataType, _), i) => StructField(s"c$i", dataType) })

  private val aRow: Gen[Row] = (plain ++ nested)
    .map { case (_, values) => Gen.frequency(1 -> Gen.const(null), 4 -> values) }
    .foldRight(Gen.const(List.empty[Any]))((value, rest) => value.flatMap(v => rest.map(v :: _))).map(Row.fromSeq)

  /** Rows, and for each whether it is kept. */
  private val cases: Gen[Seq[(Row, Boolean)]] =
    Gen.choose(0.0, 1.0).flatMap(rate => Gen.listOf(Gen.zip(aRow, Gen.choose(0.0, 1.0).map(_ < rate))))

  private val internal = CatalystTypeConverters.createToCatalystConverter(schema)
  private val back = CatalystTypeConverters.createToScalaConverter(schema)

  private def shown(value: Any): Any = value match {
    case row: Row           => row.toSeq.map(shown)
    case bytes: Array[Byte] => bytes.toSeq
    case number: Float      => number.toString // NaN is not equal to itself, and -0.0 is to 0.0
    case number: Double     => number.toString
    case other              => other
  }

  private def rows(batch: ColumnarBatch): Seq[Any] =
    batch.rowIterator().asScala.map(row => shown(back(row.copy()))).toSeq

  private def positions(kept: Seq[Boolean]): Array[Int] =
    kept.zipWithIndex.collect { case (true, i) => i }.toArray.padTo(kept.size, 0)

  for (
    (place, make) <- Seq[(String, (Int, DataType) => WritableColumnVector)](
      "on the heap" -> (new OnHeapColumnVector(_, _)),
      "off the heap" -> (new OffHeapColumnVector(_, _))
    )
  ) test(s"the kept rows of every type move to the front, $place") {
    forAll(cases, minSuccessful(40)) { values =>
      val vectors = schema.fields.toSeq.map(field => make(math.max(1, values.size), field.dataType))
      FilledVectors.fill(schema, values.map { case (row, _) => internal(row).asInstanceOf[InternalRow] }, vectors)
      val batch = new ColumnarBatch(vectors.toArray[ColumnVector], values.size)
      val before = rows(batch)
      val kept = values.map(_._2)
      val compacted = CompactedVectors.keep(batch, positions(kept), kept.count(identity))
      assert(rows(compacted) == before.zip(kept).collect { case (row, true) => row })
      assert((0 until compacted.numCols()).forall(c => compacted.column(c) eq vectors(c)))
      compacted.close()
    }
  }

  test("dictionary ids move, entries stay, and constants are left alone") {
    val texts = Vector("zero", "one", "two")
    val column = new OnHeapColumnVector(6, StringType)
    column.setDictionary(new ParquetEntries(texts).forSpark)
    val ids = column.reserveDictionaryIds(6)
    Seq(2, 0, 1, 0, 2, 1).zipWithIndex.foreach { case (id, row) => ids.putInt(row, id) }
    column.putNull(3)
    val constant = new ConstantColumnVector(6, IntegerType)
    constant.setInt(7)
    val kept = CompactedVectors.keep(new ColumnarBatch(Array(column, constant), 6), Array(1, 3, 4, 5, 0, 0), 4)
    val seen = (0 until 4).map { row =>
      (Option(kept.column(0).getUTF8String(row)).filterNot(_ => kept.column(0).isNullAt(row)), kept.column(1).getInt(row))
    }
    assert(seen == Seq(Some("zero"), None, Some("two"), Some("one")).map(text => (text.map(UTF8String.fromString), 7)))
  }
}
