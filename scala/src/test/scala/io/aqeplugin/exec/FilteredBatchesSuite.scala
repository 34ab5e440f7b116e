package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Cast, EvalMode, GenericInternalRow, IntegralDivide, Literal}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.{IntegerType, LongType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.filters.{FilterLimits, KeyCollector, KeyFilter}

class FilteredBatchesSuite extends AnyFunSuite {

  private val key = AttributeReference("k", IntegerType)()
  private val coder = KeyCoder(Seq(key), Seq(key))

  private def filter(keys: Long*): KeyFilter = {
    val collector = new KeyCollector(FilterLimits(keys.size.toLong, 100, 1L << 20, 0.01), integral = true)
    keys.foreach(collector.add)
    collector.result().toFilter(1).fold(refusal => fail(refusal.toString), identity)
  }

  private def metric: SQLMetric = new SQLMetric("sum", 0L)

  private def probe(filter: KeyFilter, pause: SelfDisable = SelfDisable(1000, 1.0, 1)): (FilterProbe, FilterCounters) = {
    val counters = FilterCounters(metric, metric, metric, metric)
    (new FilterProbe(coder, filter, pause, counters), counters)
  }

  private def vectorOf(values: Option[Int]*): IntVector = new IntVector(values.toIndexedSeq)

  private def batch(vector: ColumnVector, rows: Int): ColumnarBatch = new ColumnarBatch(Array(vector), rows)

  private def left(batch: ColumnarBatch): Seq[Int] = (0 until batch.numRows()).map(batch.column(0).getInt(_))

  test("a batch keeps the rows whose key is in the filter and drops nulls") {
    val counters = NodeCounters(metric, metric)
    val input = batch(vectorOf(Some(1), None, Some(3), Some(1), Some(2)), 5)
    val batches = new FilteredBatches(Iterator(input), Array(probe(filter(1, 2))._1), counters)
    assert(left(batches.next()) == Seq(1, 1, 2))
    assert(!batches.hasNext)
    assert(counters.rowsIn.value == 5 && counters.rowsOut.value == 3)
  }

  test("a batch without remaining rows is freed; a batch that loses none is unchanged") {
    val lost = vectorOf(Some(7), None)
    val whole = batch(vectorOf(Some(1), Some(2)), 2)
    val batches = new FilteredBatches(Iterator(batch(lost, 2), whole), Array(probe(filter(1, 2))._1), NodeCounters(metric, metric))
    assert(batches.next() eq whole)
    assert(lost.freed)
    assert(!batches.hasNext)
  }

  private def throwing(): (FilterProbe, FilterCounters) = {
    val counters = FilterCounters(metric, metric, metric, metric)
    // Fails for 0.
    val inverse = IntegralDivide(Literal(100L), Cast(key, LongType), EvalMode.ANSI)
    (new FilterProbe(KeyCoder(Seq(inverse), Seq(key)), filter(10), SelfDisable(1000, 1.0, 1), counters), counters)
  }

  test("a batch with a key that cannot be computed passes that filter, without the rows that another filter removed") {
    val (computing, counters) = throwing()
    val input = batch(vectorOf(Some(0), Some(10), Some(7), Some(20)), 4)
    val batches = new FilteredBatches(Iterator(input), Array(probe(filter(0, 10, 20))._1, computing), NodeCounters(metric, metric))
    assert(left(batches.next()) == Seq(0, 10, 20))
    assert(counters.rowsUnchecked.value == 3 && counters.rowsIn.value == 0 && counters.faults.value == 0)
  }

  test("a filter that fails gives back the rows that it was given, and none that another filter removed") {
    val counters = FilterCounters(metric, metric, metric, metric)
    // The batch has no second column.
    val missing = AttributeReference("other", IntegerType)()
    val failing = new FilterProbe(KeyCoder(Seq(missing), Seq(key, missing)), filter(10), SelfDisable.Never, counters)
    val input = batch(vectorOf(Some(0), Some(10), Some(7), Some(20)), 4)
    val probes = Array(probe(filter(0, 10, 20), SelfDisable.Never)._1, failing)
    assert(left(new FilteredBatches(Iterator(input), probes, NodeCounters(metric, metric)).next()) == Seq(0, 10, 20))
    assert(counters.faults.value == 1 && counters.rowsUnchecked.value == 0)
  }

  test("after four batches with keys that cannot be computed, a task computes no more") {
    val (computing, counters) = throwing()
    val bad = Seq.fill(4)(batch(vectorOf(Some(0), Some(20)), 2))
    val batches =
      new FilteredBatches((bad :+ batch(vectorOf(Some(10), Some(20)), 2)).iterator, Array(computing), NodeCounters(metric, metric))
    assert(batches.map(_.numRows).sum == 10)
    assert(counters.rowsUnchecked.value == 10 && counters.rowsIn.value == 0 && counters.faults.value == 0)
    val (again, _) = throwing()
    val rest =
      new FilteredBatches((bad.take(3) :+ batch(vectorOf(Some(10), Some(20)), 2)).iterator, Array(again), NodeCounters(metric, metric))
    assert(rest.map(_.numRows).sum == 7)
  }

  test("freeing a selected batch frees the vectors below it") {
    val vector = vectorOf(Some(1), Some(9))
    val batches = new FilteredBatches(Iterator(batch(vector, 2)), Array(probe(filter(1))._1), NodeCounters(metric, metric))
    val selected = batches.next()
    assert(!vector.freed)
    selected.closeIfFreeable()
    assert(vector.freed)
  }

  test("an empty batch and an empty input give nothing") {
    val batches = new FilteredBatches(Iterator(batch(vectorOf(), 0)), Array(probe(filter(1))._1), NodeCounters(metric, metric))
    val rows = batches.map(_.numRows()).sum
    assert(rows == 0)
    val none = new FilteredBatches(Iterator.empty, Array(probe(filter(1))._1), NodeCounters(metric, metric))
    assert(!none.hasNext)
    intercept[NoSuchElementException](none.next())
  }

  test("a filter with a high pass rate pauses, samples again and loses no needed row") {
    val (pausing, counters) = probe(filter(1), SelfDisable(sampleBatches = 2, maxPassRate = 0.5, skipBatches = 3))
    val input = Iterator.fill(7)(batch(vectorOf(Some(1), Some(1), Some(1), Some(9)), 4))
    def counted: Seq[Long] = Seq(ExecutorMetrics.rowsUnchecked, ExecutorMetrics.pauses, ExecutorMetrics.rowsIn).map(_.count)
    val before = counted
    val rows = new FilteredBatches(input, Array(pausing), NodeCounters(metric, metric)).map(left).toSeq
    assert(rows.map(_.size) == Seq(3, 3, 4, 4, 4, 3, 3))
    assert(counters.rowsUnchecked.value == 12 && counters.rowsIn.value == 16)
    assert(counted.zip(before).map { case (now, then) => now - then } == Seq(12, 2, 16))
  }

  test("several filters keep what all of them keep") {
    val probes = Array(probe(filter(1, 2, 3))._1, probe(filter(2, 3, 4))._1)
    val batches = new FilteredBatches(Iterator(batch(vectorOf((0 to 5).map(Some(_)): _*), 6)), probes, NodeCounters(metric, metric))
    assert(left(batches.next()) == Seq(2, 3))
  }

  test("a filter that fails passes every further row and is counted once") {
    // Fewer values than rows: reading the third throws.
    val broken = vectorOf(Some(1), Some(1))
    val (working, _) = probe(filter(1))
    val (failing, counters) = probe(filter(1))
    val batches = new FilteredBatches(
      Iterator(batch(broken, 3), batch(vectorOf(Some(1), Some(9)), 2)),
      Array(failing),
      NodeCounters(metric, metric)
    )
    assert(batches.next().numRows() == 3)
    assert(left(batches.next()) == Seq(1, 9))
    assert(!batches.hasNext && counters.faults.value == 1)
    val others = new FilteredBatches(Iterator(batch(vectorOf(Some(1), Some(9)), 2)), Array(working), NodeCounters(metric, metric))
    assert(left(others.next()) == Seq(1))
  }

  test("a filter that fails on rows passes them; an unfinished run is still counted") {
    val (failing, counters) = probe(filter(1))
    val node = NodeCounters(metric, metric)
    // A row without the key's column.
    val rows = new FilteredRows(Iterator.fill(3)(new GenericInternalRow(0)), Array(failing), node)
    assert(rows.next().numFields == 0 && rows.next().numFields == 0)
    assert(counters.faults.value == 1 && node.rowsIn.value == 0)
    rows.close()
    assert(node.rowsIn.value == 2 && node.rowsOut.value == 2)
  }
}
