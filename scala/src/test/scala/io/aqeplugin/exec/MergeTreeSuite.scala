package io.aqeplugin.exec

import java.io.IOException

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.filters.{ExactFilter, FilterLimits, KeyCollector}

class MergeTreeSuite extends AnyFunSuite with PluginSession {

  test("no part is lost or counted twice, whatever the number of parts") {
    for (
      driverParts <- Seq(1, MergeTree.FanIn);
      parts <- Seq(1, 2, MergeTree.FanIn, MergeTree.FanIn + 1, MergeTree.FanIn * MergeTree.FanIn + 1)
    ) {
      val stored = spark.sparkContext.parallelize(0 until parts, parts).mapPartitions { part =>
        val collector = new KeyCollector(FilterLimits(10000, 10000, 1L << 20, 0.01), integral = true)
        part.foreach(i => collector.add(i * 1000003L))
        Iterator.single(MergeTree.written(collector.result()))
      }
      val merged = MergeTree.merged(stored, driverParts)
      assert(merged.addedKeys == parts.toLong)
      val codes = merged.toFilter(parts).map { case exact: ExactFilter => exact.sortedCodes.toSeq; case other => fail(other.kind) }
      assert(codes == Right((0 until parts).map(_ * 1000003L)))
    }
  }

  test("invalid bytes of a part fail the build") {
    def merged(part: Array[Byte]) = MergeTree.merged(spark.sparkContext.parallelize(Seq(part), 1), 1)
    val collector = new KeyCollector(FilterLimits(1000, 10000, 64L << 20, 0.01), false)
    (0 until 100).foreach(i => collector.add(i * 1000003L))
    val part = MergeTree.written(collector.result())
    assert(merged(part).addedKeys == 100)
    // Of the codes, at the end of the part, no bit tells whether it is right.
    val damaged = Seq(8, 200, 1).map(fromEnd => part.updated(part.length - fromEnd, (part(part.length - fromEnd) ^ 4).toByte))
    (Array[Byte](1, 2) +: damaged).foreach(bytes => intercept[IOException](merged(bytes)))
  }

  test("the driver takes as many parts as fit one filter's size limit, at least one") {
    def parts(keys: Long): Int = MergeTree.driverParts(FilterLimits(keys, 10000, 64L << 20, 0.01))
    assert(parts(1000) == MergeTree.FanIn)
    assert(parts(40000000) == 1)
    assert(parts(10000000) > 1 && parts(10000000) < MergeTree.FanIn)
    assert(parts(Long.MaxValue) == 1)
  }
}
