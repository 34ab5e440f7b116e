package io.aqeplugin.exec

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.filters.{ExactFilter, FilterLimits, KeyCollector, PartialFormat}

class MergeTreeSuite extends AnyFunSuite with PluginSession {

  test("no part is lost or counted twice, however many there are") {
    for (parts <- Seq(1, 2, MergeTree.FanIn, MergeTree.FanIn + 1, MergeTree.FanIn * MergeTree.FanIn + 1)) {
      val stored = spark.sparkContext.parallelize(0 until parts, parts).mapPartitions { part =>
        val collector = new KeyCollector(FilterLimits(10000, 10000, 1L << 20, 0.01), integral = true)
        part.foreach(i => collector.add(i * 1000003L))
        Iterator.single(PartialFormat.write(collector.result()))
      }
      for (partBytes <- Seq(1L << 10, 1L << 30)) {
        val merged = MergeTree.merged(stored, partBytes)
        assert(merged.addedKeys == parts.toLong)
        val codes = merged.toFilter(parts).map { case exact: ExactFilter => exact.sortedCodes.toSeq; case other => fail(other.kind) }
        assert(codes == Right((0 until parts).map(_ * 1000003L)))
      }
    }
  }

  test("bytes that are no part fail the build") {
    val error = intercept[IllegalArgumentException](MergeTree.merged(spark.sparkContext.parallelize(Seq(Array[Byte](1, 2)), 1), 1L << 10))
    assert(error.getMessage == "2 bytes, a stored filter has at least 16")
  }
}
