package io.aqeplugin.exec

import java.util.SplittableRandom
import java.util.concurrent.locks.LockSupport

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.IntegerType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.scalacheck.{Arbitrary, Gen}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.filters.{EmptySet, ExactSet, KeyFilter}

/** A task that runs again, on a machine of another speed, gives the same rows in the same batches. */
class RepeatedTaskSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val columns = Seq("a", "b", "id").map(AttributeReference(_, IntegerType)())

  private def metric: SQLMetric = new SQLMetric("sum", 0L)

  /** A filter that passes 0, on column `c`. */
  private def probe(c: Int, pause: SelfDisable, filter: KeyFilter = ExactSet.of(Array(0L)).get): (FilterProbe, FilterCounters) = {
    val counters = FilterCounters(metric, metric, metric, metric)
    (new FilterProbe(KeyCoder(Seq(columns(c)), columns), filter, pause, counters), counters)
  }

  /** The ids that come out, batch by batch. Whoever looks at column `slow` waits. */
  private def run(input: Seq[Array[Array[Int]]], pause: SelfDisable, slow: Int): Seq[Seq[Int]] = {
    val batches = input.iterator.map { values =>
      val rows = values(0).length
      val vectors = values.zipWithIndex.map { case (column, c) =>
        val look = () => if (c == slow) LockSupport.parkNanos(200000L)
        new IntVector(column.map(Option(_)).toIndexedSeq, look): ColumnVector
      }
      new ColumnarBatch(vectors, rows)
    }
    new FilteredBatches(batches, Array(probe(0, pause)._1, probe(1, pause)._1), NodeCounters(metric, metric)).map { batch =>
      (0 until batch.numRows()).map(batch.column(2).getInt(_))
    }.toSeq
  }

  /** Batches whose share of rows that a filter passes changes now and then, for each filter. */
  private def batches(seed: Long, count: Int): Seq[Array[Array[Int]]] = {
    val random = new SplittableRandom(seed)
    var rates = Array.fill(2)(random.nextDouble()) // as it is at this batch
    (0 until count).map { b =>
      if (b % 5 == 0) rates = rates.map(rate => if (random.nextInt(3) == 0) random.nextDouble() else rate)
      val keys = rates.map(rate => Array.fill(16)(if (random.nextDouble() < rate) 0 else 1))
      keys :+ Array.tabulate(16)(b * 16 + _)
    }
  }

  test("the rows of a task do not depend on the time that its checks take") {
    val pauses = for {
      sample <- Gen.choose(1, 4)
      rate <- Gen.choose(0.3, 0.9)
      skip <- Gen.choose(1, 8)
    } yield SelfDisable(sample, rate, skip)
    forAll(Arbitrary.arbitrary[Long], pauses, minSuccessful(12)) { (seed, pause) =>
      val input = batches(seed, 150)
      val (first, again) = (run(input, pause, slow = 0), run(input, pause, slow = 1))
      assert(first.size == again.size && first.zip(again).count { case (a, b) => a != b } == 0)
    }
  }

  private def row(key: Int): InternalRow = InternalRow(key, key, key)

  test("the filter that removes more for its cost is checked first, on batches and on rows") {
    val runs = 40
    def probes = (probe(0, SelfDisable.Never), probe(1, SelfDisable.Never, EmptySet))

    val (passing, emptying) = probes
    val input = Iterator.fill(runs)(new ColumnarBatch(Array.fill[ColumnVector](3)(new IntVector(Vector.fill(16)(Some(0)))), 16))
    assert(new FilteredBatches(input, Array(passing._1, emptying._1), NodeCounters(metric, metric)).isEmpty)
    assert(passing._2.rowsIn.value < runs * 16L && emptying._2.rowsIn.value == runs * 16L)

    val (passingRows, emptyingRows) = probes
    val rows = Iterator.fill(runs * FilteredRows.RunLength)(row(0))
    assert(new FilteredRows(rows, Array(passingRows._1, emptyingRows._1), NodeCounters(metric, metric)).isEmpty)
    assert(passingRows._2.rowsIn.value < runs.toLong * FilteredRows.RunLength)
    assert(emptyingRows._2.rowsIn.value == runs.toLong * FilteredRows.RunLength)
  }
}
