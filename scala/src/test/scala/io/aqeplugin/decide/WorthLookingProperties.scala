package io.aqeplugin.decide

import org.scalacheck.{Gen, Prop, Properties}
import org.scalacheck.Prop.forAll

import io.aqeplugin.conf.AqeConf

object WorthLookingProperties extends Properties("WorthLooking") {

  private val counts: Gen[Long] = Gen.oneOf(Gen.const(0L), Gen.choose(0L, 100000L), Gen.choose(0L, 1L << 45))

  private val facts: Gen[LookFacts] = for {
    joins <- Gen.choose(1, 100)
    rows <- counts
    bytes <- counts
    joinedRows <- counts
    joinedBytes <- counts
    slots <- Gen.choose(1, 10000)
    files <- counts
    lookups <- counts
  } yield LookFacts(joins, rows, bytes, joinedRows, joinedBytes, slots, files, lookups)

  private def refused(facts: LookFacts, thresholds: Thresholds = Thresholds.Default) = WorthLooking.refused(facts, thresholds)

  property("more to read never makes joins less worth a look") = forAll(facts, Gen.choose(1L, 1L << 40)) { (one, more) =>
    val larger = one.copy(
      rows = one.rows + more,
      bytes = one.bytes + more,
      joinedRows = one.joinedRows + more,
      files = one.files + more,
      lookups = one.lookups + more
    )
    Prop(refused(one).isDefined || refused(larger).isEmpty)
  }

  property("a row that is looked up is worth no more than one that is moved") = forAll(facts) { one =>
    val moved = one.copy(joinedRows = one.joinedRows + one.lookups, lookups = 0)
    Prop(refused(moved).isEmpty || refused(one).isDefined)
  }

  property("a refusal has both sides of the comparison, and the key that sets one") = forAll(facts) { one =>
    Prop(refused(one).forall(reason =>
      reason.measured.zip(reason.limit).exists { case (most, price) => most < price } && reason.confKey == AqeConf.CostLookNanosPerJoin.key
    ))
  }

  property("at a price of 0, with open gates and where joins are forced, all joins are looked at") = forAll(facts) { one =>
    val free = Thresholds.Default.updated(AqeConf.CostLookNanosPerJoin, 0.0)
    val open = Thresholds.Default.updated(AqeConf.TestOpenGates, true)
    val forced = AqeConf.Force.parse("*=plain_sort_merge").map(Thresholds.Default.updated(AqeConf.Force, _))
    Prop(refused(one, free).isEmpty && refused(one, open).isEmpty && forced.exists(refused(one, _).isEmpty))
  }

  property("a join that was not looked at is decided again by the same bound, and without it by its facts") = forAll(facts) { one =>
    val join = FactsGen.Typical.copy(look = Some(one))
    val decision = DecideJoin.decide(join, Thresholds.Default)
    refused(one) match {
      case Some(reason) => Prop(decision.reason == reason && decision.filterReason == reason && !decision.buildFilter)
      case None         => Prop(decision.copy(facts = FactsGen.Typical) == DecideJoin.decide(FactsGen.Typical, Thresholds.Default))
    }
  }
}
