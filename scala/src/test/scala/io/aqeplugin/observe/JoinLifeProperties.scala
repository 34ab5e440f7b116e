package io.aqeplugin.observe

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.decide._
import io.aqeplugin.observe.JoinLife._

class JoinLifeProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = 500)

  private val estimate: Gen[JoinFacts] = FactsGen.joinFacts

  private val decision: Gen[JoinDecision] = FactsGen.joinFacts.map(DecideJoin.decide(_, Thresholds.Default))

  private val filter: Gen[PlacedFilter] =
    Gen.zip(Gen.choose(1, 3), Gen.prob(0.5)).map { case (id, applied) =>
      PlacedFilter(s"filter-$id", "join", "table", Seq("k"), applied, Reason(ReasonCode.FilterPays))
    }

  private val share: Gen[Double] = Gen.choose(0.0, 1.0)
  private val side: Gen[Side] = Gen.oneOf(Side.Left, Side.Right)

  private val transition: Gen[JoinLife => JoinLife] = Gen.oneOf(
    Gen.zip(estimate, Gen.prob(0.5)).map { case (made, sideRuns) => (life: JoinLife) => life.see(made, sideRuns) },
    Gen.const((life: JoinLife) => life.forgetEstimate),
    Gen.const((life: JoinLife) => life.keepEstimate),
    Gen.zip(side, Gen.option(share), Gen.option(share)).map { case (buildSide, passRate, spared) =>
      (life: JoinLife) => life.seeOtherUses(buildSide, passRate, spared)
    },
    Gen.zip(Gen.oneOf("a", "b"), decision).map { case (by, made) => (life: JoinLife) => life.leaveAlone(LeftAlone(by, made)) },
    decision.map(made => (life: JoinLife) => life.decide(made, 0L)),
    filter.map(placed => (life: JoinLife) => life.noteFilter(placed)),
    Gen.const((life: JoinLife) => life.report),
    Gen.const((life: JoinLife) => life.end)
  )

  /** A life after any transitions. */
  private val life: Gen[JoinLife] = Gen.resize(8, Gen.listOf(transition)).map(_.foldLeft(JoinLife.Unseen)((life, next) => next(life)))

  private def age(life: JoinLife): Int =
    if (life.isEnded) 4
    else if (life.isReported) 3
    else if (life.decision.isDefined) 2
    else if (life.isFixed) 1
    else 0

  test("a repeated transition changes nothing") {
    forAll(life, transition)((life, next) => assert(next(next(life)) == next(life)))
  }

  test("no transition returns to an earlier state") {
    forAll(life, transition)((life, next) => assert(age(next(life)) >= age(life)))
  }

  test("the estimate is fixed from the start of one side to the end of the query, except for what other uses do") {
    def own(life: JoinLife) = life.estimate.map(estimate => estimate.copy(probe = estimate.probe.withOtherUses(Some(0), Some(0))))
    forAll(life, transition) { (life, next) =>
      val after = next(life)
      if (age(life) >= 1 && age(after) < 4 && life.estimate.isDefined) assert(own(after) == own(life))
      if (age(life) >= 2 && age(after) < 4 && life.estimate.isDefined) assert(after.estimate == life.estimate)
    }
  }

  test("until the decision, an estimate has what was last seen of other uses") {
    forAll(life, share, share) { (life, passRate, spared) =>
      life.estimate.filter(_ => age(life) < 2).foreach { estimate =>
        val after = life.seeOtherUses(estimate.buildSide, Some(passRate), Some(spared)).estimate
        assert(after.map(_.probe).contains(estimate.probe.withOtherUses(Some(passRate), Some(spared))))
        assert(after.forall(_.probe.otherUsesPassRate == passRate))
        assert(after.forall(_.probe.path.collect { case step: PathStep.Shared => step.share }.forall(_ == spared)))
      }
    }
  }

  test("other uses of a scan below one side change nothing of an estimate whose build side is that side") {
    forAll(life, share) { (life, share) =>
      life.estimate.foreach { estimate =>
        assert(life.seeOtherUses(estimate.buildSide.other, Some(share), Some(share)).estimate.contains(estimate))
      }
    }
  }

  test("a decision without an estimate gets the next one for its build side") {
    forAll(life, estimate, Gen.prob(0.5)) { (life, made, sideRuns) =>
      val after = life.see(made, sideRuns)
      val isFilled = life.estimate.isEmpty && age(life) < 4 && life.decision.forall(_.facts.buildSide == made.buildSide)
      assert(after.estimate == (if (isFilled) Some(made) else life.estimate))
    }
  }

  private type Step = Option[JoinFacts] => Option[JoinFacts]

  /** The steps of two plans of one query, in the order that `firstGoes` gives. In the first plan a side of the join runs, in the second none does. */
  private def run(state: QueryState, made: JoinDecision, ofFirst: JoinFacts, ofSecond: JoinFacts, firstGoes: Seq[Boolean]) = {
    val start: Step = known => { state.keepEstimate("join"); known }
    val estimate: Step = _ => Some(state.estimateOnce("join", sideRuns = true)(ofFirst))
    val decide: Step = known => {
      val side = known.getOrElse(fail("not estimated")).buildSide
      val _ = state.decideOnce("join")(made.copy(facts = made.facts.copy(buildSide = side)))
      known
    }
    val plan: Step = known => { state.forgetEstimate("join"); val _ = state.estimateOnce("join", sideRuns = false)(ofSecond); known }
    val forget: Step = known => { state.forgetEstimate("join"); known }
    val (first, second) = (Seq(start, estimate, decide), Seq(plan, forget, plan))
    val (steps, left, right) = firstGoes.foldLeft((Seq.empty[Step], first, second)) { case ((done, left, right), isFirst) =>
      if (isFirst) (done ++ left.take(1), left.drop(1), right) else (done ++ right.take(1), left, right.drop(1))
    }
    (steps ++ left ++ right).foldLeft(Option.empty[JoinFacts])((known, step) => step(known))
  }

  test("a decision keeps its estimate, whatever another plan does") {
    forAll(decision, estimate, estimate, Gen.listOfN(6, Gen.prob(0.5))) { (made, ofFirst, ofSecond, firstGoes) =>
      val state = new QueryState(1L)
      assert(run(state, made, ofFirst, ofSecond, firstGoes) == state.estimate("join"))
    }
  }

  test("another plan does not drop the estimate that a running join uses") {
    forAll(decision, estimate, estimate) { (made, ofFirst, ofSecond) =>
      val state = new QueryState(1L)
      val known = run(state, made, ofFirst, ofSecond, firstGoes = Seq(true, false, true, false, true, false))
      assert(known.contains(ofSecond) && state.estimate("join") == known)
    }
  }

  test("of two concurrent estimates, the first one is kept") {
    forAll(estimate, estimate) { (ofFirst, ofSecond) =>
      val state = new QueryState(1L)
      val known = state.estimateOnce("join", sideRuns = true) {
        val _ = state.estimateOnce("join", sideRuns = false)(ofSecond)
        ofFirst
      }
      state.forgetEstimate("join")
      assert(known == ofSecond && state.estimate("join").contains(known))
    }
  }

  test("the first decision stays") {
    forAll(life, transition)((life, next) => assert(life.decision.isEmpty || next(life).decision == life.decision))
  }

  test("a decision is reported once: when its filters are placed, or at the end") {
    forAll(life) { life =>
      assert(life.report.unreported(filterRan = false) == (if (life.decision.isDefined) None else life.unreported(filterRan = false)))
      assert(life.end.unreported(filterRan = false).isEmpty)
    }
  }

  test("an ended state does not change") {
    forAll(life, transition) { (life, next) =>
      val ended = life.end
      assert(next(ended) eq ended)
    }
  }
}
