package io.aqeplugin.decide

import scala.util.Random

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.e2e.Extent

class SampledKeysProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = Extent.inputs(300))

  private val Blocks = 12
  private val RowsOfBlock = 512

  private def sample(seed: Long)(key: (Random, Int) => Long)(isBuildKey: Long => Boolean): SampledKeys = {
    val random = new Random(seed)
    val blocks = Seq.tabulate(Blocks)(block => Array.fill(RowsOfBlock)(key(random, block)))
    SampledKeys.of(blocks.map(keys => SampledBlock(keys.length, keys.count(isBuildKey), Seq(keys)))).getOrElse(fail("no sample"))
  }

  test("the interval of a sample has the true pass rate in 93 % of the cases or more, whether the rows are in order or not") {
    for (isOrdered <- Seq(false, true)) {
      val runs = 400
      val kept = (1 to runs).count { seed =>
        val share = new Random(seed).nextDouble()
        // In order, each block has a hundredth of the keys, somewhere.
        val starts = Seq.tabulate(Blocks)(block => new Random(seed * 31L + block).nextInt(100))
        val found = sample(seed.toLong)((random, block) =>
          if (isOrdered) starts(block) * 100L + random.nextInt(100) else random.nextInt(10000).toLong
        )(_ < share * 10000)
        found.bounded(share) == share
      }
      assert(kept >= runs * 0.93, s"$kept of $runs, ordered: $isOrdered")
    }
  }

  test("rows in random order count one by one, and rows in order as their blocks") {
    val shuffled = sample(1)((random, _) => random.nextInt(100000).toLong)(_ => false)
    assert(shuffled.independentRows > Blocks * RowsOfBlock / 4.0, shuffled)
    val ordered = sample(1)((random, block) => block * 1000L + random.nextInt(1000))(_ => false)
    assert(ordered.independentRows < 2.0 * Blocks, ordered)
  }

  test("an expectation moves to the nearest rate that the sample allows, which keeps the order of expectations") {
    forAll(FactsGen.sampledKeys, Gen.choose(0.0, 1.0), Gen.choose(0.0, 1.0)) { (sample, one, other) =>
      val (low, high) = (sample.bounded(math.min(one, other)), sample.bounded(math.max(one, other)))
      assert(low >= 0 && low <= high && high <= 1 && sample.bounded(low) == low, (sample, low, high))
      val share = sample.matches.toDouble / sample.rows
      assert(sample.rows == 0 || math.abs(sample.bounded(share) - share) < 1e-12, sample)
    }
  }

  test("a heavy key counts by its rows") {
    // Half of the rows have key 0.
    val heavy = sample(2)((random, _) => if (random.nextBoolean()) 0L else 1L + random.nextInt(200000))(_ == 0L)
    assert(math.abs(heavy.bounded(1.0 / 200000) - 0.5) < 0.03, heavy)
    val without = sample(2)((random, _) => if (random.nextBoolean()) 0L else 1L + random.nextInt(200000))(key => key > 0 && key <= 20000)
    assert(math.abs(without.bounded(0.1) - 0.05) < 0.02, without)
  }

  test("nulls count as rows, blocks without rows do not count, and a single block says nothing") {
    val blocks = Seq(SampledBlock(4, 1, Seq(Array(1L, 2L))), SampledBlock(2, 1, Seq(Array(1L))), SampledBlock(0, 0, Seq(Array.empty[Long])))
    assert(SampledKeys.of(blocks).map(found => (found.rows, found.matches)).contains((6L, 2L)))
    assert(SampledKeys.of(blocks.take(1)).isEmpty && SampledKeys.of(Nil).isEmpty)
  }

  test("blocks that differ in one column of the key, or in their nulls, count as blocks") {
    def of(nulls: Int => Int, second: Int => Long): Double = {
      val random = new Random(7)
      val blocks = Seq.tabulate(Blocks) { block =>
        val keyed = RowsOfBlock - nulls(block)
        SampledBlock(RowsOfBlock, 0, Seq(Array.fill(keyed)(random.nextLong()), Array.fill(keyed)(second(block))))
      }
      SampledKeys.of(blocks).fold(fail("no sample"))(_.independentRows)
    }
    assert(of(_ => 0, _ => 1L) > Blocks * RowsOfBlock / 4.0)
    assert(of(_ => 0, _.toLong) < 2.0 * Blocks && of(block => if (block < 3) RowsOfBlock else 0, _ => 1L) < 2.0 * Blocks)
  }

  test("a key that all rows have leaves nothing to compare") {
    assert(sample(3)((_, _) => 7L)(_ == 7L) == SampledKeys(Blocks * RowsOfBlock, Blocks * RowsOfBlock, Blocks * RowsOfBlock))
  }
}
