package io.aqeplugin.exec

import java.util.SplittableRandom
import java.util.concurrent.TimeUnit

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.openjdk.jmh.annotations._

/** Time of taking the kept rows out of one batch of 4,096 rows with six columns, and of reading them row by row as generated code does:
  * with vectors that are wrapped, and with rows moved to the front of vectors whose class is known.
  */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.SampleTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 3, time = 1)
class BatchBenchmark {
  import BatchBenchmark._

  /** Share of rows that stay. */
  @Param(Array("0.02", "0.1", "0.5", "0.9", "0.99"))
  var kept: Double = 0.0

  private var batch: ColumnarBatch = _
  private var positions: Array[Int] = _
  private var count = 0

  @Setup
  def fill(): Unit = {
    val random = new SplittableRandom(42)
    val types = Seq(IntegerType, LongType, DoubleType, StringType, IntegerType, LongType)
    val vectors = types.map(new OnHeapColumnVector(BatchRows, _))
    (0 until BatchRows).foreach { i =>
      vectors(0).putInt(i, i)
      vectors(1).putLong(i, i.toLong)
      vectors(2).putDouble(i, i.toDouble)
      vectors(3).putByteArray(i, s"text $i".getBytes)
      vectors(4).putInt(i, i)
      vectors(5).putLong(i, i.toLong)
    }
    batch = new ColumnarBatch(vectors.toArray[ColumnVector], BatchRows)
    val chosen = (0 until BatchRows).filter(_ => random.nextDouble() < kept).toArray
    count = chosen.length
    positions = chosen.padTo(BatchRows, 0)
  }

  @Benchmark
  def wrapped(): Double = {
    val selected = new ColumnarBatch(Array.tabulate(batch.numCols())(c => ThisSparkLine.selected(batch.column(c), positions)), count)
    val (a, b, c) = (selected.column(0), selected.column(1), selected.column(2))
    val (d, e, f) = (selected.column(3), selected.column(4), selected.column(5))
    var sum = 0.0
    var i = 0
    while (i < count) {
      sum += a.getInt(i) + b.getLong(i) + c.getDouble(i) + d.getUTF8String(i).numBytes + e.getInt(i) + f.getLong(i)
      i += 1
    }
    sum
  }

  // The rows of an earlier call move again, which takes as long.
  @Benchmark
  def compacted(): Double = {
    val same = CompactedVectors.keep(batch, positions, count)
    def vector(c: Int): OnHeapColumnVector = same.column(c).asInstanceOf[OnHeapColumnVector]
    val (a, b, c) = (vector(0), vector(1), vector(2))
    val (d, e, f) = (vector(3), vector(4), vector(5))
    var sum = 0.0
    var i = 0
    while (i < count) {
      sum += a.getInt(i) + b.getLong(i) + c.getDouble(i) + d.getUTF8String(i).numBytes + e.getInt(i) + f.getLong(i)
      i += 1
    }
    sum
  }
}

object BatchBenchmark {
  final val BatchRows = 4096
}
