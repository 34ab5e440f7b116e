package io.aqeplugin.filters

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class PartialFilterSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  import KeySets.{bytesOf, merge, part}

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = 300)

  private val integral = Gen.oneOf(true, false)

  /** The complete content of a part. */
  private def image(p: PartialFilter): Seq[Any] = {
    val keys = p.state match {
      case KeyState.Exact(codes)     => codes.toSeq
      case KeyState.Bitmap(bitmap)   => bitmap.firstWord +: bitmap.words.toSeq
      case KeyState.Bloom(words)     => words.toSeq
      case KeyState.Refused(refusal) => Seq(refusal)
    }
    Seq(p.limits, p.integral, p.parts, p.addedKeys, p.range, p.state.getClass, keys)
  }

  private def sizeOf(p: PartialFilter): Long = p.state match {
    case KeyState.Exact(codes)   => codes.length.toLong * java.lang.Long.BYTES
    case KeyState.Bitmap(bitmap) => bitmap.sizeBytes
    case KeyState.Bloom(words)   => SplitBlockBloom.bytesOf(words)
    case KeyState.Refused(_)     => 0L
  }

  /** The content without the counts, which merging a part with itself doubles. */
  private def keysOf(p: PartialFilter): Seq[Any] = image(p.copy(parts = 0, addedKeys = 0))

  test("the filter of merged parts misses no key of any part") {
    forAll(Gen.listOfN(5, KeySets.codes), integral) { (lists, isIntegral) =>
      val merged = lists.map(part(_, isIntegral)).reduce(merge)
      merged.toFilter(5) match {
        case Right(filter) => assert(lists.flatten.forall(filter.mightContain), filter.kind)
        case Left(refusal) => fail(refusal.toString)
      }
    }
  }

  test("merged parts equal the part of one task with all the keys") {
    forAll(KeySets.codes, KeySets.codes, integral) { (a, b, isIntegral) =>
      val merged = merge(part(a, isIntegral), part(b, isIntegral))
      assert(image(merged.copy(parts = 1)) == image(part(a ++ b, isIntegral)))
    }
  }

  test("the order of keys does not matter") {
    forAll(KeySets.codes, integral) { (codes, isIntegral) =>
      assert(image(part(codes, isIntegral)) == image(part(codes.reverse, isIntegral)))
      assert(image(part(codes, isIntegral)) == image(part(codes.sorted, isIntegral)))
    }
  }

  test("merging is commutative") {
    forAll(KeySets.codes, KeySets.codes, integral) { (a, b, isIntegral) =>
      assert(image(merge(part(a, isIntegral), part(b, isIntegral))) == image(merge(
        part(b, isIntegral),
        part(a, isIntegral)
      )))
    }
  }

  test("merging is associative, also when all parts are merged at once") {
    forAll(KeySets.codes, KeySets.codes, KeySets.codes, integral) { (x, y, z, isIntegral) =>
      val (a, b, c) = (part(x, isIntegral), part(y, isIntegral), part(z, isIntegral))
      val left = merge(merge(a, b), c)
      assert(image(left) == image(merge(a, merge(b, c))))
      assert(image(left) == image(PartialFilter.mergeAll(a, Iterator(b, c))))
    }
  }

  test("merging a part with itself, or with one without keys, changes no key") {
    forAll(KeySets.codes, integral) { (codes, isIntegral) =>
      val p = part(codes, isIntegral)
      assert(keysOf(merge(p, p)) == keysOf(p))
      assert(keysOf(merge(p, part(Array.empty, isIntegral))) == keysOf(p))
      assert(keysOf(merge(part(Array.empty, isIntegral), p)) == keysOf(p))
    }
  }

  test("merging leaves both parts unchanged") {
    forAll(KeySets.codes, KeySets.codes, integral) { (x, y, isIntegral) =>
      val (a, b) = (part(x, isIntegral), part(y, isIntegral))
      val (imageA, imageB) = (image(a), image(b))
      merge(a, b)
      assert(image(a) == imageA && image(b) == imageB)
    }
  }

  test("repeated keys change only the counts") {
    val once = part(Array(7, 8, 9))
    val thrice = part(Array(7, 8, 9, 9, 9, 7))
    assert(once.addedKeys == 3 && thrice.addedKeys == 6)
    assert(keysOf(once) == keysOf(thrice))
  }

  test("a filter from fewer or more parts than tasks is refused") {
    val parts = Seq(part(Array(1)), part(Array(2)), part(Array(3)))
    val merged = parts.reduce(merge)
    assert(merged.toFilter(3).isRight)
    assert(merged.toFilter(4) == Left(FilterRefusal.IncompleteBuild(3, 4)))
    assert(merged.toFilter(2) == Left(FilterRefusal.IncompleteBuild(3, 2)))
  }

  test("a finished collector accepts no more keys") {
    val collector = new KeyCollector(KeySets.limits, true)
    collector.add(1)
    collector.result()
    assert(intercept[IllegalStateException](collector.add(2)).getMessage.contains("result was taken"))
    assertThrows[IllegalStateException](collector.result())
  }

  test("without keys, the filter of any number of tasks is the empty set") {
    val empty = part(Array.empty)
    assert(empty.range.isEmpty)
    assert(Seq.fill(4)(empty).reduce(merge).toFilter(4) == Right(EmptySet))
  }

  test("added keys move the filter down the ladder") {
    def kindOf(codes: Seq[Long], isIntegral: Boolean = true) = part(codes.toArray, isIntegral).toFilter(1).map(_.kind)
    // 20 exact keys are allowed in the end, 32 in a part.
    for (count <- Seq(21L, 32L, 33L, 40L, 300L)) {
      assert(kindOf(0L until count).contains("range_bitmap"))
      assert(kindOf(0L until count, isIntegral = false).contains("split_block_bloom"))
      assert(kindOf((0L until count).map(_ * 1000000)).contains("split_block_bloom"))
    }
    assert(kindOf(Seq(1, 1000000)).contains("exact"))
    assert(kindOf(0L until 20L).contains("range_bitmap"))
    assert(kindOf((0L until 20L).map(_ * 1000000)).contains("exact"))
    assert(kindOf(0L until 20L, isIntegral = false).contains("exact"))
  }

  test("one distant key turns a bitmap into a Bloom filter without losing keys") {
    val dense = (0L until 4000L).toArray
    Seq(Long.MaxValue, Long.MinValue, 10000000L, -10000000L).foreach { far =>
      val limits = KeySets.limits.copy(expectedKeys = 4000)
      val Right(filter) = merge(part(dense, limits = limits), part(Array(far), limits = limits)).toFilter(2): @unchecked
      assert(filter.kind == "split_block_bloom")
      assert((dense :+ far).forall(filter.mightContain))
    }
  }

  test("a bitmap that grows alternately at both ends stays correct up to its limit") {
    val codes = (0L until 8000L).flatMap(i => Seq(100000 + i, 100000 - i)).toArray
    val p = part(codes, limits = KeySets.limits.copy(expectedKeys = 2000))
    assert(p.toFilter(1).map(_.kind).contains("range_bitmap"))
    assert(p.toFilter(1).map { case e: ExactFilter => e.sortedCodes.toSeq; case _ => Nil }.contains(codes.distinct.sorted.toSeq))
  }

  test("keys that exceed the size limit are refused, also after merging") {
    val tight = KeySets.limits.copy(expectedKeys = 2000, maxFilterBytes = 1000)
    val needed = BloomSizing.bytesFor(2000, 0.01)
    val tooMany = part(KeySets.randomCodes(100, 4), integral = true, tight)
    assert(tooMany.toFilter(1) == Left(FilterRefusal.TooManyBytes(needed, 1000)))
    assert(merge(
      tooMany,
      part(Array(1), integral = true, tight)
    ).toFilter(2) == Left(FilterRefusal.TooManyBytes(needed, 1000)))
    assert(merge(
      part(Array(1), integral = true, tight),
      tooMany
    ).toFilter(2) == Left(FilterRefusal.TooManyBytes(needed, 1000)))
  }

  test("parts with different limits never become a filter, in any order") {
    val other = part(Array(1), integral = true, KeySets.limits.copy(expectedKeys = 7))
    val hashed = part(Array(1), integral = false)
    val big = part(KeySets.randomCodes(100, 4), integral = true, KeySets.limits.copy(maxFilterBytes = 400))
    val plain = part(Array(2))
    for (odd <- Seq(other, hashed, big)) {
      assert(merge(plain, odd).toFilter(2) == Left(FilterRefusal.IncompatibleParts))
      assert(merge(odd, plain).toFilter(2) == Left(FilterRefusal.IncompatibleParts))
      assert(merge(merge(plain, odd), plain).toFilter(3) == Left(FilterRefusal.IncompatibleParts))
    }
  }

  test("a part with few keys is small although many keys were expected") {
    val limits = FilterLimits(10000000, 1000, 64L << 20, 0.01)
    val p = part(KeySets.randomCodes(50000, 3), integral = false, limits)
    assert(sizeOf(p) == 50000 * 8)
    val Right(filter) = p.toFilter(1): @unchecked
    assert(filter.kind == "split_block_bloom" && filter.sizeBytes == BloomSizing.bytesFor(50000, 0.01))
  }

  test("keys below the size limit give a filter even if the row count is unknown") {
    val limits = FilterLimits(Long.MaxValue, 1000, 1L << 20, 0.01)
    val (some, others) = (KeySets.randomCodes(20000, 3), KeySets.randomCodes(20000, 4))
    val merged = merge(part(some, integral = false, limits), part(others, integral = false, limits))
    assert(merged.toFilter(2).map(_.sizeBytes) == Right(BloomSizing.bytesFor(40000, 0.01)))
    val tooMany = part(KeySets.randomCodes(200000, 3), integral = false, limits)
    assert(tooMany.toFilter(1) == Left(FilterRefusal.TooManyBytes(Long.MaxValue, 1L << 20)))
  }

  test("a wide bitmap of few keys becomes a smaller Bloom filter") {
    val limits = FilterLimits(100000, 100, 1L << 20, 0.01)
    val sparse = Array.tabulate(9000)(_ * 110L)
    assert(sizeOf(part(sparse, limits = limits)) == CodeRange(0, sparse.last).bitmapBytes)
    val Right(filter) = part(sparse, limits = limits).toFilter(1): @unchecked
    assert(filter.kind == "split_block_bloom" && sparse.forall(filter.mightContain))
  }

  test("a Bloom filter with far more keys than expected is refused") {
    val limits = KeySets.limits.copy(expectedKeys = 100)
    assert(part(KeySets.randomCodes(300, 6), integral = false, limits).toFilter(1).isRight)
    val overfull = part(KeySets.randomCodes(20000, 6), integral = false, limits).toFilter(1)
    assert(overfull.left.toOption.exists { case FilterRefusal.Overfull(rate, limit) => rate > limit; case _ => false })
  }

  test("a Bloom filter with far fewer keys than expected is small") {
    val limits = KeySets.limits.copy(expectedKeys = 500000, maxFilterBytes = 1 << 24)
    val codes = KeySets.randomCodes(40000, 8)
    val p = part(codes, integral = false, limits)
    val Right(filter) = p.toFilter(1): @unchecked
    assert(p.state.isInstanceOf[KeyState.Bloom] && filter.sizeBytes * 8 <= sizeOf(p))
    assert(codes.forall(filter.mightContain))
  }

  test("no kind of filter misses any of a million keys from fifty tasks") {
    val shapes =
      Seq[(Long => Long, String)]((i => i % 10, "range_bitmap"), (identity, "range_bitmap"), (KeyHasher.mix, "split_block_bloom"))
    val limits = FilterLimits(1000000, 1000, 1 << 24, 0.01)
    shapes.foreach { case (shape, kind) =>
      val parts = (0 until 50).map(t => part(Array.tabulate(20000)(i => shape(t * 20000L + i)), integral = true, limits))
      val Right(filter) = PartialFilter.mergeAll(parts.head, parts.tail.iterator).toFilter(50): @unchecked
      assert(filter.kind == kind)
      assert((0L until 1000000L).forall(i => filter.mightContain(shape(i))))
    }
  }

  test("the filters of a part and of its merged copy have equal bytes") {
    forAll(KeySets.codes) { codes =>
      val p = part(codes)
      assert(bytesOf(merge(p, part(Array.empty)).toFilter(2)) == bytesOf(p.toFilter(1)))
    }
  }
}
