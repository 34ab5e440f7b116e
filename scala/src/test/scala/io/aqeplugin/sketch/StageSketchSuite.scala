package io.aqeplugin.sketch

import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.filters.{CodeRange, KeyHasher}

class StageSketchSuite extends AnyFunSuite {

  private val Limits = SketchLimits.forTasks(1, 1000)

  private def sketch(codes: Seq[Long], nulls: Int = 0, integral: Boolean = true): KeySketch = {
    val sketcher = new KeySketcher(Limits, Seq(integral))
    codes.grouped(100).foreach(some => sketcher.add(some.toArray, some.size))
    sketcher.addNulls(nulls)
    KeySketch.fromBytes(sketcher.result.toBytes)
  }

  private def stage(parts: KeySketch*): Option[KeySummary] = {
    val stage = new StageSketch(Limits)
    parts.zipWithIndex.foreach { case (part, i) => stage.absorb(i, parts.size, part) }
    stage.summary
  }

  private def summary(parts: KeySketch*): KeySummary = stage(parts: _*).getOrElse(fail("a partition is missing"))

  test("rows, nulls, range and distinct keys of all partitions are added up") {
    val found = summary(sketch(Seq(5, 7, 7), nulls = 2), sketch(Seq(7, -3)))
    assert((found.rows, found.nulls, found.distinct) == ((7L, 2L, 3L)))
    assert(found.range.contains(CodeRange(-3, 7)))
    assert(found.codes.map(_.toSeq).contains(Seq(-3L, 5L, 7L)))
  }

  test("a partition that comes twice counts once") {
    val stage = new StageSketch(Limits)
    Seq(0, 1, 0, 1, 0).foreach(stage.absorb(_, 2, sketch(Seq(1, 2, 3))))
    assert(stage.summary.map(_.rows).contains(6L))
  }

  test("nothing is known while a partition is missing") {
    val stage = new StageSketch(Limits)
    assert(stage.summary.isEmpty)
    stage.absorb(1, 2, sketch(Seq(1)))
    assert(stage.summary.isEmpty)
  }

  test("while tasks are missing, the rows of those that have finished are known, each partition once") {
    val stage = new StageSketch(Limits)
    assert(stage.progress.isEmpty)
    Seq(2, 0, 2).foreach(stage.absorb(_, 4, sketch(Seq(1, 2, 3), nulls = 2)))
    assert(stage.progress.contains(SketchProgress(doneTasks = 2, tasks = 4)))
  }

  test("a stage without rows has no key and no range") {
    val found = summary(sketch(Nil), sketch(Nil, nulls = 4))
    assert((found.rows, found.nulls, found.distinct, found.range) == ((4L, 4L, 0L, None)))
    assert(found.codes.exists(_.isEmpty) && found.buckets.isEmpty)
  }

  test("the buckets cover the range once and hold about equal shares of the rows") {
    val found = summary(sketch(0L until 20000L), sketch(20000L until 40000L))
    assert(found.codes.isEmpty, "40,000 keys are more than are kept")
    assert(found.buckets.head.low == 0L && found.buckets.last.high == 39999L)
    found.buckets.lazyZip(found.buckets.tail).foreach((one, next) => assert(next.low == one.high + 1))
    val shares = found.buckets.map(_.rows / 40000.0)
    assert(found.buckets.size == StageSketch.Buckets)
    assert(shares.forall(share => math.abs(share - 1.0 / StageSketch.Buckets) < 0.03), shares)
  }

  test("a key that has most of the rows fills one bucket") {
    val keys = (0L until 50000L).map(i => if (i % 10 < 8) 42L else i)
    val found = summary(sketch(keys.take(25000)), sketch(keys.drop(25000)))
    val widest = found.buckets.maxBy(_.rows)
    assert(widest.low <= 42L && 42L <= widest.high && widest.rows > 36000, found.buckets)
  }

  test("one key a hundred million times is one key with so many rows") {
    val sketcher = new KeySketcher(Limits, Seq(true))
    val rows = 100 * 1000 * 1000
    val batch = new Array[Long](10000)
    (1 to rows / batch.length).foreach { _ =>
      java.util.Arrays.fill(batch, 42L)
      sketcher.add(batch, batch.length)
    }
    val found = summary(KeySketch.fromBytes(sketcher.result.toBytes))
    assert((found.rows, found.distinct) == ((rows.toLong, 1L)) && found.codes.map(_.toSeq).contains(Seq(42L)))
    assert(found.buckets == Seq(CodeBucket(42, 42, rows.toLong)))
  }

  test("hashed keys have neither range nor buckets") {
    val found = summary(sketch(Seq(1, 2, 3), integral = false))
    assert(found.range.isEmpty && found.buckets.isEmpty && found.distinct == 3)
  }

  /** A task's sketch of keys of two columns, the second of which is hashed. */
  private def ofTwo(rows: Seq[(Long, Long)], limits: SketchLimits = Limits): KeySketch = {
    val sketcher = new KeySketcher(limits, Seq(true, false))
    rows.grouped(100).foreach { some =>
      sketcher.addColumn(0, some.map(_._1).toArray, some.size)
      sketcher.addColumn(1, some.map(_._2).toArray, some.size)
      sketcher.add(some.map { case (a, b) => KeyHasher.combine(a, b) }.toArray, some.size)
    }
    KeySketch.fromBytes(sketcher.result.toBytes)
  }

  test("of a key of several columns, the values of each column are known, and the range of those that are not hashed") {
    val found = summary(ofTwo(Seq((3, 70), (3, 71), (9, 70))), ofTwo(Nil), ofTwo(Seq((-2, 70))))
    assert((found.rows, found.distinct, found.range, found.buckets) == ((4L, 4L, None, Nil)))
    assert(found.columns.map(_.range) == Seq(Some(CodeRange(-2, 9)), None))
    assert(found.columns.map(_.codes.map(_.sorted.toSeq)) == Seq(Some(Seq(-2L, 3L, 9L)), Some(Seq(70L, 71L))))
    assert(summary(ofTwo(Nil)).columns.forall(column => column.range.isEmpty && column.codes.exists(_.isEmpty)))
  }

  test("the values of a column are known while they are few, in a task and in the stage") {
    val most = Limits.columnCodes
    def rows(from: Int, until: Int) = (from until until).map(i => (i.toLong, i % 7L))
    def known(parts: KeySketch*) = summary(parts: _*).columns.map(_.codes.map(_.length))
    assert(known(ofTwo(rows(0, most))) == Seq(Some(most), Some(7)) && known(ofTwo(rows(0, most + 1))) == Seq(None, Some(7)))
    assert(known(ofTwo(rows(0, most)), ofTwo(rows(1, most))) == Seq(Some(most), Some(7)))
    assert(known(ofTwo(rows(0, most)), ofTwo(rows(1, most + 1)), ofTwo(rows(0, 1))) == Seq(None, Some(7)))
    assert(summary(ofTwo(rows(0, 5000)), ofTwo(rows(5000, 9000))).columns.head.range.contains(CodeRange(0, 8999)))
  }

  /** A task's sketch of keys of a number and a text. */
  private def withTexts(texts: Seq[String]): KeySketch = {
    val sketcher = new KeySketcher(Limits, Seq(true, false), Seq(false, true))
    texts.foreach { text =>
      val utf8 = UTF8String.fromString(text)
      sketcher.addText(1, KeyHasher.hashUtf8(utf8), utf8)
    }
    KeySketch.fromBytes(sketcher.result.toBytes)
  }

  private def textsOf(parts: KeySketch*): Option[Set[String]] = {
    val found = summary(parts: _*).texts
    assert(found.size == 2 && found.head.isEmpty)
    found.last.map { texts =>
      assert(texts.distinct.size == texts.size)
      texts.map(_.toString).toSet
    }
  }

  test("the texts of a column are known while they are few and short, in a task and in the stage") {
    assert(textsOf(withTexts(Seq("a", "", "ä", "a")), withTexts(Nil), withTexts(Seq("b", "a"))).contains(Set("a", "", "ä", "b")))
    val most = (1 to Limits.columnCodes).map(_.toString)
    assert(textsOf(withTexts(most ++ most)).contains(most.toSet) && textsOf(withTexts(most), withTexts(most.reverse)).contains(most.toSet))
    assert(textsOf(withTexts(most :+ "one more")).isEmpty && textsOf(withTexts(most), withTexts(Seq("one more"))).isEmpty)
    assert(textsOf(withTexts(most :+ "one more"), withTexts(Seq("a"))).isEmpty)
    val long = "x" * (Limits.columnTextBytes - 1)
    assert(textsOf(withTexts(Seq(long, "a", long))).contains(Set(long, "a")) && textsOf(withTexts(Seq(long, "a", "b"))).isEmpty)
    assert(textsOf(withTexts(Nil)).contains(Set.empty) && summary(sketch(Seq(1))).texts.isEmpty)
  }

  test("texts with one hash are several") {
    val texts = new DistinctTexts(100, 1000)
    (1 to 60).foreach(i => texts.add(7L, UTF8String.fromString(s"text ${i % 6}")))
    assert(texts.result.map(_.size).contains(6))
  }

  test("many tasks keep fewer keys each, so that the driver receives at most 64 MiB of them") {
    Seq(1, 10, 1000, 10000).foreach { tasks =>
      val limits = SketchLimits.forTasks(tasks, 100000)
      assert(limits.exactCodes.toLong * 8 * tasks <= (64L << 20), tasks)
      assert(limits.sampledCodes >= 256)
    }
  }
}
