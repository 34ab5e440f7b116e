package io.aqeplugin.sketch

import java.util.SplittableRandom
import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import io.aqeplugin.filters.KeyHasher

/** Time of sketching a task's keys, drawn from `distinct` values. Divide by 1,000,000 for the time of one row. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 3, time = 2)
class SketchBenchmark {

  @Param(Array("1000", "50000", "100000000"))
  var distinct: Int = 0

  private var codes: Array[Long] = _

  @Setup
  def draw(): Unit = {
    val random = new SplittableRandom(42)
    codes = Array.fill(1000000)(random.nextLong(distinct.toLong))
  }

  @Benchmark
  def sketch(): KeySketch = {
    val sketcher = new KeySketcher(SketchLimits.forTasks(8, 100000), Seq(true))
    val some = new Array[Long](1000)
    var i = 0
    while (i < codes.length) {
      System.arraycopy(codes, i, some, 0, some.length)
      sketcher.add(some, some.length)
      i += some.length
    }
    sketcher.result
  }

  /** The same with each key as a number of two columns: one of 30 values, and the drawn one. */
  @Benchmark
  def sketchTwoColumns(): KeySketch = {
    val sketcher = new KeySketcher(SketchLimits.forTasks(8, 100000), Seq(true, true))
    val columns = Array.fill(2)(new Array[Long](1000))
    val some = new Array[Long](1000)
    var i = 0
    while (i < codes.length) {
      System.arraycopy(codes, i, columns(1), 0, some.length)
      var j = 0
      while (j < some.length) {
        columns(0)(j) = columns(1)(j) % 30
        some(j) = KeyHasher.combine(columns(0)(j), columns(1)(j))
        j += 1
      }
      sketcher.addColumn(0, columns(0), some.length)
      sketcher.addColumn(1, columns(1), some.length)
      sketcher.add(some, some.length)
      i += some.length
    }
    sketcher.result
  }
}
