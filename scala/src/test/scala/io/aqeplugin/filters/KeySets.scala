package io.aqeplugin.filters

import org.scalacheck.{Arbitrary, Gen}

/** Generators and builders for the suites of this package. */
object KeySets {

  val limits: FilterLimits = FilterLimits(expectedKeys = 400, exactMaxKeys = 20, maxFilterBytes = 1 << 20, falsePositiveRate = 0.01)

  /** Typical codes, and codes that break arithmetic: small, dense, at both ends, anywhere. */
  val code: Gen[Long] = Gen.frequency(
    4 -> Gen.choose(-50L, 50L),
    2 -> Gen.choose(1000000L, 1002000L),
    1 -> Gen.oneOf(Long.MinValue, Long.MinValue + 1, Long.MaxValue, Long.MaxValue - 1, 0L, -1L, 63L, 64L, -64L, -65L),
    2 -> Arbitrary.arbitrary[Long]
  )

  /** Up to 200 codes, with repetitions: with [[limits]], they reach all rungs of the ladder. */
  val codes: Gen[Array[Long]] = Gen.oneOf(
    Gen.listOf(code).map(_.toArray),
    Gen.choose(0, 200).flatMap(n => Gen.listOfN(n, code)).map(_.toArray),
    Gen.choose(0, 200).flatMap(n => Gen.listOfN(n, Gen.choose(5000L, 9000L))).map(_.toArray),
    Gen.choose(0, 200).flatMap(n => Gen.listOfN(n, Gen.choose(Long.MaxValue - 500, Long.MaxValue))).map(_.toArray)
  )

  val nonEmptyCodes: Gen[Array[Long]] = codes.suchThat(_.nonEmpty)

  /** One filter of every kind that can hold these codes. */
  def everyFilterOf(codes: Array[Long]): Seq[KeyFilter] =
    (if (codes.isEmpty) Seq(EmptySet) else Nil) ++
      ExactSet.of(codes) ++
      (if (codes.nonEmpty && CodeRange(codes.min, codes.max).bitmapBytes <= (1 << 20)) RangeBitmap.of(codes) else None) ++
      SplitBlockBloom.of(codes, 0.01)

  def part(codes: Array[Long], integral: Boolean = true, limits: FilterLimits = limits): PartialFilter = {
    val collector = new KeyCollector(limits, integral)
    codes.foreach(collector.add)
    collector.result()
  }

  def merge(a: PartialFilter, b: PartialFilter): PartialFilter = PartialFilter.mergeAll(a, Iterator.single(b))

  /** A filter's complete content as comparable bytes. */
  def bytesOf(filter: Either[FilterRefusal, KeyFilter]): Either[FilterRefusal, Seq[Byte]] = filter.map(f => FilterFormat.write(f).toSeq)

  def randomCodes(count: Int, seed: Long): Array[Long] = {
    val random = new java.util.SplittableRandom(seed)
    Array.fill(count)(random.nextLong())
  }
}
