package io.aqeplugin.filters

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class KeyFilterSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = 200)

  test("no kind of filter misses a key that was added") {
    forAll(KeySets.codes) { codes =>
      KeySets.everyFilterOf(codes).foreach(filter => assert(codes.forall(filter.mightContain), filter.kind))
    }
  }

  test("retain agrees with mightContain, in order, and reads only the given positions") {
    forAll(KeySets.codes, Gen.listOf(KeySets.code), Gen.choose(0, 5)) { (members, others, spare) =>
      val probed = (members ++ others).sortBy(_ * 31)
      val start = probed.indices.filter(_ % 3 != 1).toArray
      KeySets.everyFilterOf(members).foreach { filter =>
        val positions = start ++ Array.fill(spare)(Int.MaxValue)
        val kept = filter.retain(probed, positions, start.length)
        assert(positions.take(kept).toSeq == start.filter(p => filter.mightContain(probed(p))).toSeq, filter.kind)
        assert(positions.drop(start.length).forall(_ == Int.MaxValue), filter.kind)
      }
    }
  }

  test("retain agrees with mightContain at every batch length around the chunk size") {
    val members = KeySets.randomCodes(5000, 1)
    val probed = (members.take(300) ++ KeySets.randomCodes(4000, 2)).sortBy(KeyHasher.mix)
    KeySets.everyFilterOf(members).foreach { filter =>
      (Seq(0, 1, 2, 3) ++ (60 to 70) ++ (250 to 260) ++ Seq(511, 512, 513, 1023, 1024, 1025, 4096, 4300)).foreach { count =>
        val positions = Array.range(0, probed.length)
        val kept = filter.retain(probed, positions, count)
        assert(positions.take(kept).toSeq == (0 until count).filter(p => filter.mightContain(probed(p))), s"${filter.kind} $count")
      }
    }
  }

  test("retain agrees with mightContain for runs of rows from any row on, and runs with a gap") {
    val members = KeySets.randomCodes(5000, 1)
    val probed = (members.take(900) ++ KeySets.randomCodes(900, 2)).sortBy(KeyHasher.mix)
    val runs = for (first <- Seq(0, 1, 700); length <- Seq(1, 2, 255, 256, 257, 600)) yield Array.range(first, first + length)
    val gaps = Seq(1, 100, 254, 255, 256, 300).map(gap => Array.range(0, 700).filter(_ != gap))
    for (filter <- KeySets.everyFilterOf(members); rows <- runs ++ gaps) {
      val positions = rows.clone()
      val kept = filter.retain(probed, positions, rows.length)
      assert(positions.take(kept).toSeq == rows.filter(p => filter.mightContain(probed(p))).toSeq, filter.kind)
    }
  }

  test("a union passes the rows that pass one of its members, in order") {
    forAll(Gen.listOfN(3, KeySets.codes), Gen.listOf(KeySets.code), Gen.choose(1, 3)) { (sets, others, rounds) =>
      val probed = (sets.flatten ++ others).sortBy(_ * 31).toArray
      val members = sets.flatMap(KeySets.everyFilterOf(_).lastOption)
      val union = new AnyOf(members.toArray)
      (1 to rounds).foreach { round =>
        val start = probed.indices.filter(_ % (round + 1) != 1).toArray
        val positions = start.clone()
        val kept = union.retain(probed, positions, start.length)
        val expected = start.filter(p => members.exists(_.mightContain(probed(p)))).toSeq
        assert(positions.take(kept).toSeq == expected)
        assert(start.filter(p => union.mightContain(probed(p))).toSeq == expected)
      }
    }
  }

  test("unions of the very same filters are equal, and of other filters are not") {
    val one = KeySets.everyFilterOf(Array(1L, 5L)).last
    val other = KeySets.everyFilterOf(Array(9L)).last
    def union(members: KeyFilter*) = new AnyOf(members.toArray)
    assert(union(one, other) == union(one, other) && union(one, other).hashCode == union(one, other).hashCode)
    assert(union(one, other) != union(other, one) && union(one) != union(one, other))
  }

  test("exact kinds contain exactly the added codes") {
    forAll(KeySets.codes, Gen.listOf(KeySets.code)) { (codes, others) =>
      KeySets.everyFilterOf(codes).collect { case exact: ExactFilter =>
        assert(exact.sortedCodes.toSeq == codes.distinct.sorted.toSeq, exact.kind)
        assert(exact.distinctCodes == codes.distinct.length.toLong, exact.kind)
        assert(others.forall(c => exact.mightContain(c) == codes.contains(c)), exact.kind)
        val near = codes.flatMap(c => Seq(c - 1, c + 1, c ^ Long.MinValue))
        assert(near.forall(c => exact.mightContain(c) == codes.contains(c)), exact.kind)
      }
    }
  }

  test("an exact set of any size, even with full buckets, has only its codes") {
    (Seq(1, 2, 3, 4, 5, 7, 8, 9) ++ Seq(100, 1000, 16384, 16385, 100000)).foreach { size =>
      val codes = KeySets.randomCodes(size, size.toLong)
      val set = ExactSet.of(codes).getOrElse(fail("no set"))
      assert(codes.forall(set.mightContain), size)
      assert(KeySets.randomCodes(50000, -1).forall(c => !set.mightContain(c)), size)
      val positions = Array.range(0, size)
      assert(set.retain(codes, positions, size) == size, size)
    }
  }

  test("every kind reports its name and its memory") {
    val filters = KeySets.everyFilterOf(Array(1L, 2L, 3L)) ++ Seq(EmptySet, RangeFilter(CodeRange(1L, 3L)))
    assert(filters.map(_.kind).toSet == FilterKind.All.map(_.name).toSet)
    assert(filters.map(f => f.kind -> f.sizeBytes).toMap == Map(
      "empty" -> 0L,
      "exact" -> 64L,
      "range_bitmap" -> 8L,
      "split_block_bloom" -> 32L,
      "range" -> 16L
    ))
  }

  test("a range contains every code between its ends and no other") {
    forAll(KeySets.code, KeySets.code, Gen.listOf(KeySets.code)) { (a, b, others) =>
      val range = RangeFilter(CodeRange(math.min(a, b), math.max(a, b)))
      val probed = (others ++ Seq(a, b)).toArray
      val positions = Array.range(0, probed.length)
      val kept = range.retain(probed, positions, probed.length)
      val inside = probed.indices.filter(i => probed(i) >= math.min(a, b) && probed(i) <= math.max(a, b))
      assert(positions.take(kept).toSeq == inside && inside.forall(i => range.mightContain(probed(i))))
      assert(probed.count(range.mightContain) == inside.size)
    }
  }

  test("a bitmap with more words than an array can hold is declined") {
    assert(RangeBitmap.of(Array(Long.MinValue, Long.MaxValue)).isEmpty)
    assert(RangeBitmap.of(Array(0L, Long.MaxValue)).isEmpty)
  }

  test("without codes, only the empty set can be built") {
    assert(ExactSet.of(Array.empty).isEmpty && RangeBitmap.of(Array.empty).isEmpty && SplitBlockBloom.of(Array.empty, 0.01).isEmpty)
  }
}
