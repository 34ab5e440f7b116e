package io.aqeplugin.sketch

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class DistinctCodesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = 200)

  private val Exact = 100
  private val Sampled = 32

  private val code = Gen.oneOf(Gen.choose(0L, 500L), Gen.choose(Long.MinValue, Long.MaxValue), Gen.oneOf(0L, Long.MinValue, Long.MaxValue))
  private val codes = Gen.choose(0, 400).flatMap(Gen.listOfN(_, code))

  private def sampleOf(codes: Seq[Long]): CodeSample = {
    val distinct = new DistinctCodes(Exact, Sampled)
    codes.grouped(64).foreach(some => distinct.addAll(some.toArray, some.size))
    distinct.result
  }

  private def merged(parts: Seq[Seq[Long]]): CodeSample = {
    val distinct = new DistinctCodes(Exact, Sampled)
    parts.foreach(part => distinct.absorb(sampleOf(part)))
    distinct.result
  }

  private def image(sample: CodeSample): (Int, Set[Long]) = (sample.level, sample.codes.toSet)

  test("while they are few, every code is kept and counted") {
    forAll(codes) { codes =>
      val sample = sampleOf(codes)
      val distinct = codes.distinct.sorted
      assert(sample.isComplete == (distinct.size <= Exact))
      if (sample.isComplete) assert(sample.codes.toSeq.sorted == distinct && sample.distinct == distinct.size)
      else assert(sample.codes.length <= Sampled && sample.codes.forall(distinct.contains))
    }
  }

  test("the sample depends on the set of codes and not on their order or number") {
    forAll(codes) { codes =>
      assert(image(sampleOf(codes)) == image(sampleOf(codes.reverse ++ codes)))
    }
  }

  test("the samples of parts make the sample of all, in any order") {
    forAll(codes, codes, codes) { (a, b, c) =>
      assert(image(merged(Seq(a, b, c))) == image(sampleOf(a ++ b ++ c)))
      assert(image(merged(Seq(c, a, b, a))) == image(sampleOf(a ++ b ++ c)))
    }
  }

  test("the estimate of many codes is within 10 % in all of 40 sets") {
    val errors = for (set <- 1 to 40) yield {
      val distinct = new DistinctCodes(1000, 2048)
      val count = 5000 * set
      (0 until count).foreach(i => distinct.add(set.toLong * 1000000007L + i * 3L))
      math.abs(distinct.result.distinct - count).toDouble / count
    }
    assert(errors.max < 0.1, errors)
  }
}
