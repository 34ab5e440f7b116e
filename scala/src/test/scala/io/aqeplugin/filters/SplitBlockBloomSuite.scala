package io.aqeplugin.filters

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class SplitBlockBloomSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def bloomOf(codes: Array[Long], rate: Double): SplitBlockBloom =
    SplitBlockBloom.of(codes, rate).getOrElse(fail("no filter"))

  /** Share of `probes` absent codes that pass. */
  private def passRate(filter: SplitBlockBloom, absent: Int => Long, probes: Int): Double =
    (0 until probes).count(i => filter.mightContain(absent(i))).toDouble / probes

  for (rate <- Seq(0.001, 0.01, 0.03); keys <- Seq(1000, 30000, 2000000))
    test(s"with $keys keys, about ${rate * 100} % of absent keys pass") {
      val filter = bloomOf(Array.range(0, keys).map(_.toLong), rate)
      val measured = passRate(filter, i => -1L - i, 1000000)
      assert(measured < 1.5 * rate)
      // Rounding up to whole blocks costs little memory and never doubles the filter.
      assert(measured > 0.5 * rate)
      assert(filter.falsePositiveRate < 1.1 * rate)
    }

  // Typical keys of tables; a weak hash would show with the structured ones.
  private val shapes: Seq[(String, Int => Long)] = Seq(
    "consecutive" -> (_.toLong),
    "multiples of 2^32" -> (_.toLong << 32),
    "microseconds of days" -> (_ * 86400000000L),
    "hashes" -> (i => KeyHasher.mix(i.toLong))
  )

  for ((name, shape) <- shapes)
    test(s"keys that are $name meet the false-positive rate") {
      val keys = 100000
      val filter = bloomOf(Array.tabulate(keys)(i => shape(2 * i)), 0.01)
      assert(passRate(filter, i => shape(2 * i + 1), 1000000) < 0.015)
    }

  test("a filter of more than 2^17 blocks meets the false-positive rate") {
    val keys = 6000000
    val filter = bloomOf(Array.range(0, keys).map(_.toLong), 0.001)
    assert(filter.blocks > (1 << 17))
    val measured = passRate(filter, i => -1L - i, 2000000)
    assert(measured < 0.0015 && measured > 0.0005)
  }

  test("the rate computed from set bits is the measured rate, even when overfull") {
    Seq(500, 2000, 8000).foreach { keys =>
      val words = SplitBlockBloom.emptyWords(BloomSizing.blocksFor(1000, 0.01))
      (0 until keys).foreach(i => SplitBlockBloom.insert(words, i.toLong))
      val filter = new SplitBlockBloom(words)
      val measured = passRate(filter, i => -1L - i, 400000)
      assert(math.abs(filter.falsePositiveRate - measured) < 0.1 * measured + 0.0005, s"$keys keys")
    }
  }

  test("the predicted rate is the rate computed from the set bits") {
    Seq(0.001, 0.01, 0.1).foreach { rate =>
      val filter = bloomOf(KeySets.randomCodes(200000, 9), rate)
      val predicted = BloomSizing.falsePositiveRate(200000, filter.blocks.toLong)
      assert(math.abs(predicted / filter.falsePositiveRate - 1) < 0.05, s"rate $rate")
    }
  }

  test("halving a filter gives exactly the filter built at half the size") {
    forAll(KeySets.nonEmptyCodes, Gen.choose(1, 50)) { (codes, half) =>
      val large = SplitBlockBloom.emptyWords(2L * half)
      val small = SplitBlockBloom.emptyWords(half.toLong)
      codes.foreach { code =>
        SplitBlockBloom.insert(large, code)
        SplitBlockBloom.insert(small, code)
      }
      assert(SplitBlockBloom.halved(large).toSeq == small.toSeq)
    }
  }

  test("a filter with a tenth of the expected keys shrinks to an eighth") {
    val words = SplitBlockBloom.emptyWords(BloomSizing.blocksFor(1000000, 0.01))
    (0 until 100000).foreach(i => SplitBlockBloom.insert(words, i.toLong))
    val compacted = new SplitBlockBloom(words).compacted(0.01)
    assert(compacted.sizeBytes * 8 == SplitBlockBloom.bytesOf(words))
    assert((0L until 100000L).forall(compacted.mightContain))
    assert(passRate(compacted, i => -1L - i, 400000) < 0.01)
  }

  test("each key sets four bits, one in each word of its block") {
    forAll(KeySets.code, Gen.choose(1, 1000)) { (code, blocks) =>
      val words = SplitBlockBloom.emptyWords(blocks.toLong)
      SplitBlockBloom.insert(words, code)
      val setBits = SplitBlockBloom.unpadded(words).map(java.lang.Long.bitCount).toSeq
      assert(setBits.sum == 4)
      assert(setBits.grouped(4).count(_ == Seq.fill(4)(1)) == 1)
    }
  }

  test("block numbers and bits have the fixed values of earlier releases") {
    val words = SplitBlockBloom.emptyWords(3)
    Seq(1L, -1L, 42L, Long.MinValue).foreach(SplitBlockBloom.insert(words, _))
    assert(SplitBlockBloom.unpadded(words).toSeq == SplitBlockBloomSuite.GoldenWords)
  }
}

/** Computed by a second implementation, in Python with unbounded integers. */
object SplitBlockBloomSuite {
  private val GoldenWords = Seq(
    0x0000000000000400L, 0x0000004000000000L, 0x0000040000000000L, 0x0008000000000000L,
    0x0000002400000000L, 0x0000000001800000L, 0x0001008000000000L, 0x0000000010000004L,
    0x0800000000000000L, 0x0020000000000000L, 0x0800000000000000L, 0x0004000000000000L
  )
}
