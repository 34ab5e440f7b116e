package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class MemoryBudgetProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val facts: Gen[JoinFacts] = for {
    join <- FactsGen.joinFacts
    limit <- Gen.choose(0L, 1L << 33)
    held <- Gen.choose(0L, 1L << 33)
  } yield join.copy(memory = Some(MemoryFacts(limit, held)))

  test("no decision adds more memory than the budget has left") {
    forAll(facts, FactsGen.thresholds) { (facts, thresholds) =>
      val held = MemoryBudget.heldBy(DecideJoin.decide(facts, thresholds), thresholds)
      facts.memory.foreach(memory => assert(held == 0 || held <= memory.limitBytes - memory.heldBytes))
    }
  }

  test("a budget that holds every option changes no decision") {
    forAll(FactsGen.joinFacts.map(_.copy(memory = None)), FactsGen.thresholds) { (facts, thresholds) =>
      val unlimited = facts.copy(memory = Some(MemoryFacts(Long.MaxValue, 0)))
      assert(DecideJoin.decide(unlimited, thresholds).copy(facts = facts) == DecideJoin.decide(facts, thresholds))
    }
  }

  test("a broadcast that other queries leave no memory for is sorted, and says why") {
    val alone = DecideJoin.decide(FactsGen.Typical, Thresholds.Default)
    assert(alone.method.contains(Method.Broadcast))
    val needed = MemoryBudget.heldBy(alone, Thresholds.Default)
    val crowded = DecideJoin.decide(FactsGen.Typical.copy(memory = Some(MemoryFacts(needed + 99, 100))), Thresholds.Default)
    assert(crowded.choice == Strategy.FilteredSortMerge)
    val reason = crowded.options.find(_.option == JoinOption.FilteredBroadcast).map(_.reason)
    assert(reason.exists(r => r.code == ReasonCode.MemoryBudget && r.measured.contains(needed + 100.0)), reason)
  }

  test("a Bloom filter is charged with the twice as many bytes that it may take") {
    val few = FactsGen.Typical.copy(build = FactsGen.Typical.build.copy(rows = 1000))
    val many = FactsGen.Typical.copy(build = FactsGen.Typical.build.copy(rows = 5L * 1000 * 1000))
    Seq(few -> 1, many -> 2).foreach { case (facts, times) =>
      val decision = DecideJoin.decide(facts.copy(canBroadcast = false), Thresholds.Default)
      val size = FilterSize.of(facts.build, Thresholds.Default)
      assert(decision.buildFilter && MemoryBudget.heldBy(decision, Thresholds.Default) == (times * size.bytes).toLong)
    }
  }

  test("a broadcast that Spark would make takes nothing from the budget") {
    val ofSpark = FactsGen.Typical.copy(sparkStrategy = Strategy.Broadcast, memory = Some(MemoryFacts(0, 0)))
    val decision = DecideJoin.decide(ofSpark, Thresholds.Default)
    assert(decision.method.contains(Method.Broadcast) && MemoryBudget.heldBy(decision, Thresholds.Default) == 0)
  }
}
