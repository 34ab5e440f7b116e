package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** How the time of stages is divided between joins. */
class CostSharesProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val millis: Gen[Double] = Gen.frequency(8 -> Gen.choose(0.0, 1e7), 1 -> Gen.const(0.0), 1 -> Gen.choose(1e280, 1e300))

  private val stages: Gen[Map[Int, StageWork]] =
    Gen.mapOf(Gen.zip(Gen.choose(0, 8), Gen.zip(Gen.choose(0.0, 1e7), Gen.prob(0.3)).map((StageWork.apply _).tupled)))

  private val joins: Gen[Seq[JoinWork]] = Gen.resize(
    8,
    Gen.listOf(for {
      weights <- Gen.mapOf(Gen.zip(Gen.choose(0, 8), millis))
      driver <- Gen.choose(0.0, 1e5)
      slots <- Gen.oneOf(0, 1, 2, 64)
    } yield (weights, driver, slots))
  ).map(_.zipWithIndex.map { case ((weights, driver, slots), i) => join(s"j$i", weights, driver, slots) })

  private def join(id: String, weights: Map[Int, Double], driverMillis: Double, slots: Int): JoinWork =
    JoinWork(id, JoinOption.SortMerge, 1, weights, driverMillis, slots)

  private def costs(stages: Map[Int, StageWork], joins: Seq[JoinWork]): Seq[MeasuredCost] =
    CostShares.of(stages, joins).map(_.measured.fold(why => fail(why.name), identity))

  test("no time is counted twice, none is lost where a join worked, and none is below zero") {
    forAll(stages, joins) { (stages, joins) =>
      val shared = costs(stages, joins)
      assert(shared.forall(cost => cost.taskMillis >= 0 && cost.costMillis >= cost.driverMillis && !cost.costMillis.isInfinite))
      val worked = joins.flatMap(_.weights.keys).distinct.flatMap(stages.get).map(_.taskMillis).sum
      assert(math.abs(shared.map(_.taskMillis).sum - worked) <= 1e-9 * math.max(1.0, worked))
    }
  }

  test("a join that has its stages to itself has all of their time") {
    forAll(stages, millis) { (stages, weight) =>
      val cost = costs(stages, Seq(join("j", stages.map { case (stage, _) => stage -> weight }, 7, 2))).head
      val all = stages.values.map(_.taskMillis).sum
      assert(math.abs(cost.taskMillis - all) <= 1e-9 * math.max(1.0, all))
      assert(!cost.shared && cost.otherWork == stages.values.exists(_.otherWork))
      assert(cost.costMillis == cost.taskMillis / 2 + 7)
    }
  }

  test("two joins in one stage divide it as their prices are, whatever the prices' unit") {
    val weight = Gen.choose(1.0, 1e6)
    forAll(weight, weight, Gen.choose(0.0, 1e6), Gen.choose(1e-6, 1e6)) { (one, other, time, unit) =>
      val stage = Map(0 -> StageWork(time, otherWork = false))
      val both = costs(stage, Seq(join("a", Map(0 -> one * unit), 0, 1), join("b", Map(0 -> other * unit), 0, 1)))
      assert(math.abs(both.head.taskMillis * other - both.last.taskMillis * one) <= 1e-6 * math.max(1.0, time * one * other))
      assert(both.forall(_.shared))
    }
  }

  test("a stage in which nothing was expected to cost anything is divided evenly") {
    val stage = Map(3 -> StageWork(90, otherWork = true))
    val three = costs(stage, Seq("a", "b", "c").map(id => join(id, Map(3 -> 0.0), 0, 1)))
    three.foreach(cost => assert(math.abs(cost.taskMillis - 30) < 1e-9 && cost.shared && cost.otherWork))
  }

  test("stages that took no time, and joins without any, cost nothing") {
    assert(costs(Map.empty, Seq(join("a", Map(0 -> 5.0), 0, 2), join("b", Map.empty, 0, 2))).map(_.costMillis) == Seq(0.0, 0.0))
  }
}
