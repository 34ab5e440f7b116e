package io.aqeplugin.sketch

import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.filters.KeyHasher

import FewKeysProperties.Row

class FewKeysProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val AreValues = Seq(true, false)
  private val AreTexts = Seq(false, true)

  private val rows: Gen[Seq[Row]] = Gen.listOf(for {
    number <- Gen.oneOf(Gen.choose(-3L, 3L), Gen.long)
    text <- Gen.oneOf("", "a", "b", "key-17", "a text that is longer than thirty-two bytes")
  } yield Row(number, text))

  private def few(rows: Seq[Row], columns: Seq[Int], nulls: Long): KeySummary = {
    val keys = new FewKeys(rows.size, columns.map(AreValues), columns.map(AreTexts))
    rows.foreach { row =>
      columns.zipWithIndex.foreach { case (column, i) => keys.codes(i)(keys.size) = row.codes(column) }
      columns.zipWithIndex.filter { case (column, _) => AreTexts(column) }.foreach { case (_, i) => keys.addText(i, row.utf8) }
      keys.add()
    }
    keys.result(rows.size + nulls)
  }

  private def sketched(rows: Seq[Row], columns: Seq[Int], nulls: Long): KeySummary = {
    val limits = SketchLimits.forTasks(1, 10000)
    val sketcher = new KeySketcher(limits, columns.map(AreValues), columns.map(AreTexts))
    sketcher.addNulls(nulls)
    val codes = columns.map(column => rows.map(_.codes(column)).toArray)
    sketcher.add(rows.map(row => columns.map(row.codes(_)).reduce(KeyHasher.combine)).toArray, rows.size)
    if (columns.size > 1) codes.zipWithIndex.foreach { case (ofColumn, i) => sketcher.addColumn(i, ofColumn, rows.size) }
    for (row <- rows; (column, i) <- columns.zipWithIndex if AreTexts(column)) sketcher.addText(i, row.codes(column), row.utf8)
    val stage = new StageSketch(limits)
    stage.absorb(0, 1, sketcher.result)
    stage.summary.getOrElse(fail("a partition is missing"))
  }

  /** What is known of keys, in a form that can be compared. */
  private def told(summary: KeySummary) = (
    (summary.rows, summary.nulls, summary.distinct, summary.range),
    summary.codes.map(_.toSeq),
    summary.columns.map(column => (column.range, column.codes.map(_.toSeq.sorted))),
    summary.texts.map(_.map(_.map(_.toString).sorted))
  )

  for ((what, columns) <- Seq("numbers" -> Seq(0), "texts" -> Seq(1), "numbers and texts" -> Seq(0, 1), "texts and numbers" -> Seq(1, 0)))
    test(s"a sketch of the same rows tells the same: $what") {
      forAll(rows, Gen.choose(0L, 3L))((some, nulls) => assert(told(few(some, columns, nulls)) == told(sketched(some, columns, nulls))))
    }

  test("the buckets of a single number cover the range, each with its rows") {
    forAll(rows) { some =>
      val found = few(some, Seq(0), 0)
      val numbers = some.map(_.number)
      assert(found.buckets.size <= StageSketch.Buckets && found.buckets.nonEmpty == some.nonEmpty)
      assert(found.buckets.headOption.map(_.low) == numbers.minOption && found.buckets.lastOption.map(_.high) == numbers.maxOption)
      assert(found.buckets.lazyZip(found.buckets.drop(1)).forall((one, next) => one.high < next.low))
      assert(found.buckets.forall(bucket => bucket.rows == numbers.count(n => bucket.low <= n && n <= bucket.high)))
      assert(found.buckets.map(_.rows).sum == some.size)
    }
  }

  test("one value far from all others does not stretch the buckets of the others") {
    val days = (0L +: (2451000L until 2451366L)).map(Row(_, ""))
    assert(few(days, Seq(0), 0).buckets.drop(1).forall(bucket => bucket.low > 2451000L && bucket.high - bucket.low < 25))
  }

  test("of more texts than a column keeps, there is none") {
    val many = (0 until 1001).map(i => Row(i.toLong, s"key-$i"))
    assert(few(many, Seq(1), 0).texts == Seq(None))
    assert(few(many.take(1000), Seq(1), 0).texts.flatten.map(_.size) == Seq(1000))
  }

  test("of more values than a column of several keeps, only the range is known") {
    val many = (0 until 1001).map(i => Row(i.toLong, "a"))
    assert(few(many, Seq(0, 1), 0).columns.map(_.codes.isDefined) == Seq(false, true))
    assert(few(many, Seq(0, 1), 0).columns.headOption.flatMap(_.range).map(range => (range.min, range.max)).contains((0L, 1000L)))
  }
}

private object FewKeysProperties {

  final case class Row(number: Long, text: String) {
    def utf8: UTF8String = UTF8String.fromString(text)
    def codes: Seq[Long] = Seq(number, KeyHasher.hashUtf8(utf8))
  }
}
