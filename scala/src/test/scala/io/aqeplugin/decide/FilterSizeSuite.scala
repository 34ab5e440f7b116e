package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.filters.{CodeRange, ExactFilter, FilterLimits, KeyFilter, KeySets, RangeFilter}

class FilterSizeSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val held = Thresholds.Default

  private def foreseen(distinct: Long, rows: Long, limits: Thresholds): FilterSize = {
    val keys = KeyFacts(columns = 1, supported = true, distinct = Some(distinct))
    FilterSize.of(FactsGen.Typical.build.copy(rows = rows, keys = keys), limits)
  }

  private def built(codes: Array[Long], integral: Boolean, rows: Long, limits: Thresholds): KeyFilter = {
    val asked =
      FilterLimits(rows, limits(AqeConf.FilterExactMaxKeys).toInt, limits(AqeConf.FilterMaxBytes), limits(AqeConf.FilterFalsePositiveRate))
    KeySets.part(codes, integral, asked).toFilter(1).fold(refusal => fail(refusal.toString), identity)
  }

  test("a filter estimated as exact is exact and no larger than estimated") {
    forAll(KeySets.codes, Gen.oneOf(true, false), Gen.choose(1L, 30L), Gen.oneOf(0L, 20L, 500L)) {
      (codes, integral, rowsPerKey, exactMaxKeys) =>
        val limits = held.updated(AqeConf.FilterExactMaxKeys, exactMaxKeys)
        val distinct = codes.distinct.length.toLong
        val size = foreseen(distinct, distinct * rowsPerKey, limits)
        assert(size.exact == (distinct <= exactMaxKeys))
        if (size.exact) {
          val filter = built(codes, integral, distinct * rowsPerKey, limits)
          assert(filter.isInstanceOf[ExactFilter] && filter.sizeBytes <= size.bytes, filter.kind)
        }
    }
  }

  test("a range is two numbers, however many rows and values it covers") {
    val keys = KeyFacts(columns = 1, supported = true, distinct = Some(Long.MaxValue), asRange = true)
    val size = FilterSize.of(FactsGen.Typical.build.copy(rows = 1000000000L, keys = keys), held)
    assert(size == FilterSize(RangeFilter(CodeRange(1, 2)).sizeBytes.toDouble, exact = true))
  }

  test("a Bloom filter is at most twice its estimated size, even with repeated keys") {
    for (keys <- Seq(15000, 40000); rowsPerKey <- Seq(1L, 3L, 20L, 200L)) {
      val filter = built(KeySets.randomCodes(keys, rowsPerKey), integral = false, keys * rowsPerKey, held)
      val size = foreseen(keys.toLong, keys * rowsPerKey, held)
      assert(filter.kind == "split_block_bloom" && !size.exact)
      assert(filter.sizeBytes >= size.bytes / 2 && filter.sizeBytes <= size.bytes * 2, s"$keys keys, $rowsPerKey rows each")
    }
  }
}
