package io.aqeplugin.filters

import java.math.BigInteger
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.{Arbitrary, Gen}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class KeyHasherSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def utf8(s: String): Long = KeyHasher.hashUtf8(UTF8String.fromString(s))

  test("hashes have the fixed values of earlier releases") {
    assert(Seq(0L, 1L, -1L, 42L, Long.MinValue, Long.MaxValue).map(KeyHasher.mix) == KeyHasherSuite.GoldenMix)
    assert(Seq((1L, 2L), (2L, 1L), (0L, 0L), (KeyHasher.Seed, 7L)).map { case (a, b) =>
      KeyHasher.combine(a, b)
    } == KeyHasherSuite.GoldenCombine)
    // Lengths on both sides of each branch: 0, 1-3, 4-7, 8-16, 17 and more.
    val alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
    assert(Seq(0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 32, 33, 36).map(n => utf8(alphabet.take(n))) == KeyHasherSuite.GoldenText)
    val decimals = Seq("0", "-1", "123456789012345678901234567890", "-99999999999999999999999999999999999999")
    assert(decimals.map(d => KeyHasher.hashUnscaled(new BigInteger(d).toByteArray)) == KeyHasherSuite.GoldenUnscaled)
  }

  test("mix is the published SplitMix64 finalizer") {
    // First outputs of SplitMix64 with seed 0, as listed by its authors: the finalizer of multiples of the golden gamma.
    val gamma = 0x9e3779b97f4a7c15L
    assert(KeyHasher.mix(gamma) == 0xe220a8397b1dcdafL)
    assert(KeyHasher.mix(2 * gamma) == 0x6e789e6aa1b965f4L)
    assert(KeyHasher.mix(3 * gamma) == 0x06c45d188009454fL)
  }

  test("each input bit of mix flips about half of the output bits") {
    val random = new java.util.SplittableRandom(5)
    (0 until 64).foreach { bit =>
      val flips = Seq.fill(2000)(random.nextLong()).map(x => java.lang.Long.bitCount(KeyHasher.mix(x) ^ KeyHasher.mix(x ^ (1L << bit))))
      assert(math.abs(flips.sum / 2000.0 - 32) < 0.6, s"bit $bit")
    }
  }

  test("the order of the columns of a composite key matters") {
    forAll { (a: Long, b: Long) =>
      whenever(a != b) {
        def key(x: Long, y: Long) = KeyHasher.combine(KeyHasher.combine(KeyHasher.Seed, x), y)
        assert(key(a, b) != key(b, a))
      }
    }
  }

  test("composite keys of small numbers do not collide") {
    val keys = for (a <- -300L to 300L; b <- -300L to 300L) yield KeyHasher.combine(KeyHasher.combine(KeyHasher.Seed, a), b)
    assert(keys.distinct.size == keys.size)
  }

  test("a hash depends only on the bytes, not on their position in memory") {
    forAll(Gen.listOf(Arbitrary.arbitrary[Byte]), Gen.choose(0, 20), Gen.choose(0, 20)) { (bytes, before, after) =>
      val moved = Array.fill[Byte](before)(77) ++ bytes ++ Array.fill[Byte](after)(88)
      val here = KeyHasher.hashBytes(bytes.toArray, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length)
      val there = KeyHasher.hashBytes(moved, Platform.BYTE_ARRAY_OFFSET.toLong + before, bytes.length)
      assert(here == there)
      val address = Platform.allocateMemory(bytes.length + 1L)
      try {
        Platform.copyMemory(moved, Platform.BYTE_ARRAY_OFFSET.toLong + before, null, address, bytes.length.toLong)
        assert(KeyHasher.hashBytes(null, address, bytes.length) == here)
      } finally Platform.freeMemory(address)
    }
  }

  test("each bit of a text of up to 40 bytes changes about half of the hash bits") {
    (1 to 40).foreach { length =>
      val text = Array.tabulate[Byte](length)(i => (i * 37 + 11).toByte)
      val hash = KeyHasher.hashUnscaled(text)
      val flips = (0 until length * 8).map { bit =>
        val other = text.clone()
        other(bit / 8) = (other(bit / 8) ^ (1 << (bit % 8))).toByte
        java.lang.Long.bitCount(hash ^ KeyHasher.hashUnscaled(other))
      }
      assert(flips.forall(f => f > 8 && f < 56), s"length $length")
      assert(math.abs(flips.sum.toDouble / flips.size - 32) < 6, s"length $length")
    }
  }

  test("runs of zeros of different lengths, and a text and its prefix, hash differently") {
    val zeros = (0 to 100).map(n => KeyHasher.hashUnscaled(new Array[Byte](n)))
    assert(zeros.distinct.size == zeros.size)
    val prefixes = (0 to 100).map(n => utf8("x" * n))
    assert(prefixes.distinct.size == prefixes.size)
  }

  test("300,000 typical keys do not collide and fill hash buckets evenly") {
    val texts = Array.tabulate(300000)(i => utf8("AAAAAAAA" + (10000000 + i)))
    assert(texts.distinct.length == texts.length)
    Seq(0, 24, 56).foreach { shift =>
      val buckets = new Array[Int](256)
      texts.foreach(h => buckets(((h >>> shift) & 255).toInt) += 1)
      val expected = texts.length / 256.0
      val chiSquare = buckets.map(n => (n - expected) * (n - expected) / expected).sum
      // 255 degrees of freedom: mean 255, standard deviation 22.6; five deviations.
      assert(chiSquare < 255 + 5 * 22.6, s"bits from $shift")
    }
  }

  test("floating-point numbers have equal codes exactly when a join takes them for equal") {
    val special = Gen.oneOf(0.0, -0.0, Double.NaN, java.lang.Double.longBitsToDouble(0xfff8000000000123L), Double.MinPositiveValue)
    val numbers = Gen.oneOf(special, Arbitrary.arbitrary[Double], Arbitrary.arbitrary[Float].map(_.toDouble))
    forAll(numbers, numbers) { (a, b) =>
      assert((KeyHasher.floatingCode(a) == KeyHasher.floatingCode(b)) == (a == b || a.isNaN && b.isNaN))
    }
  }

  test("text is hashed by its UTF-8 bytes, whatever slice of memory it is in") {
    forAll { (s: String) =>
      val bytes = s.getBytes(UTF_8)
      assert(utf8(s) == KeyHasher.hashUnscaled(bytes))
      assert(KeyHasher.hashUtf8(UTF8String.fromBytes(Array[Byte](1, 2, 3) ++ bytes, 3, bytes.length)) == utf8(s))
    }
  }
}

/** Computed by a second implementation, in Python with unbounded integers. */
object KeyHasherSuite {
  private val GoldenMix = Seq(
    0x0000000000000000L, 0x5692161d100b05e5L, 0xb4d055fcf2cbbd7bL, 0xa759ea27d4727622L, 0x25c26ea579cea98aL,
    0x5a682afe7965debdL
  )
  private val GoldenCombine = Seq(
    0x975835de1c9756ceL,
    0xbeeb8da1658eec67L,
    0x0000000000000000L,
    0x47687874b0a5b458L
  )
  private val GoldenText = Seq(
    0xe9fc524119c07df0L, 0x6fc742bc29024d96L, 0x8b91cb13f2f75992L, 0xba4e4add4bb6e514L, 0x21981e92cb2d235fL,
    0x7105910a94f646a8L, 0xc0e369164aa01915L, 0x7f9bda1a62f83f97L, 0xf88acc6890aecdbaL, 0x1456481e8e12f943L,
    0x56c67ce6425f6e89L, 0xc44148ab08389404L, 0xc5fe4167893c226fL, 0xcf58df283f35c05eL
  )
  private val GoldenUnscaled = Seq(
    0xaf2491a18537b871L,
    0x66796866f87820b0L,
    0xd40301ef820315efL,
    0x0a0d3a3efd7c53adL
  )
}
