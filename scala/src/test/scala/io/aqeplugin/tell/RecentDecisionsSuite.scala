package io.aqeplugin.tell

import org.apache.spark.util.SizeEstimator
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide._
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter, QueryState}

/** Which queries are kept and dropped, without Spark. */
class RecentDecisionsSuite extends AnyFunSuite {

  private val typical = DecideJoin.decide(FactsGen.Typical, Thresholds.Default)

  private def decision(joinId: String): KeptDecision =
    KeptDecision(1L, Mode.Apply, typical.copy(facts = typical.facts.copy(joinId = joinId)), Seq(place("f1", joinId)))

  private def place(filterId: String, joinId: String): PlacedFilter =
    PlacedFilter(filterId, joinId, "store_sales", Seq("ss_item_sk"), applied = true, Reason(ReasonCode.FilterPays))

  /** A copy that shares no value with another, and so takes its full memory. */
  private def alone(kept: KeptDecision): KeptDecision =
    kept.copy(decision =
      DecisionJson.parse(Json.render(DecisionJson.write(kept.decision))).fold(fail(_), identity)
    )

  private def outcome(joinId: String): FilterOutcome =
    FilterOutcome("f1", joinId, "store_sales", Seq("ss_item_sk"), "exact", None, 100, 10, 0, 64, 5, 7, 9)

  private def ended(joinIds: String*): KeptEnd = KeptEnd(2L, 3L, 0L, failed = false, 0, joinIds.map(outcome))

  private def idsOf(recent: RecentDecisions): Seq[Long] = recent.queries.map(_.executionId)

  test("only the latest queries are kept") {
    val recent = new RecentDecisions(3, 10, _ => false)
    (1L to 5L).foreach { id =>
      recent.add(new QueryState(id), decision("j"))
      recent.end(id, ended("j"))
    }
    assert(idsOf(recent) == Seq(3L, 4L, 5L))
  }

  test("a running query is kept longer than newer queries that have ended") {
    val recent = new RecentDecisions(2, 10, _ == 1L)
    (1L to 4L).foreach(id => recent.add(new QueryState(id), decision("j")))
    assert(idsOf(recent) == Seq(1L, 4L))
  }

  test("if all queries run, the oldest is dropped and does not replace a newer one") {
    val recent = new RecentDecisions(2, 10, _ => true)
    (1L to 3L).foreach(id => recent.add(new QueryState(id), decision("j")))
    assert(idsOf(recent) == Seq(2L, 3L))
    recent.add(new QueryState(1L), decision("another"))
    assert(idsOf(recent) == Seq(2L, 3L))
  }

  test("a limit of 0 keeps no query") {
    val recent = new RecentDecisions(0, 10, _ => true)
    recent.add(new QueryState(1L), decision("j"))
    recent.end(1L, ended("j"))
    assert(recent.queries.isEmpty)
  }

  test("the first decisions of a query are kept, and all are counted") {
    val recent = new RecentDecisions(2, 3, _ => true)
    val state = new QueryState(1L)
    (1 to 7).foreach(i => recent.add(state, decision(s"j$i")))
    val query = recent.queries.head
    assert(query.decisions.map(_.decision.facts.joinId) == Seq("j1", "j2", "j3"))
    assert(query.decided == 7)
  }

  test("outcomes are kept for the kept joins only") {
    val recent = new RecentDecisions(2, 1, _ => true)
    val state = new QueryState(1L)
    Seq("j1", "j2").foreach(join => recent.add(state, decision(join)))
    recent.end(1L, ended("j1", "j2"))
    assert(recent.queries.flatMap(_.end).flatMap(_.outcomes).map(_.joinId) == Seq("j1"))
  }

  test("a query whose end was never announced has the status unknown") {
    val recent = new RecentDecisions(3, 10, _ == 2L)
    (1L to 3L).foreach(id => recent.add(new QueryState(id), decision("j")))
    recent.end(3L, ended("j").copy(failed = true))
    assert(recent.queries.map(recent.status) == Seq("unknown", "running", "failed"))
    recent.end(1L, ended("j"))
    assert(recent.status(recent.queries.head) == "succeeded")
  }

  test("every status of a query or a filter is documented") {
    val statuses = RecentDecisions.Statuses.map(_._1).toSet
    assert(statuses == Set("running", "succeeded", "failed", "unknown"))
    val run = outcome("j")
    val filters = Seq(
      FilterInPlace(None, Some(run.copy(kind = FilterOutcome.Missing))),
      FilterInPlace(None, Some(run)),
      FilterInPlace(None, Some(run.copy(reason = Some(Reason(ReasonCode.BuildTimeout))))),
      FilterInPlace(Some(place("f1", "j")), None),
      FilterInPlace(Some(place("f1", "j").copy(applied = false)), None)
    )
    assert(filters.map(_.status) == DecisionColumns.FilterStatuses.map(_._1))
  }

  test("concurrent threads lose no decision and no end") {
    val recent = new RecentDecisions(100, 100, _ => true)
    val threads = (1L to 8L).map { id =>
      new Thread(() => {
        val state = new QueryState(id)
        (1 to 50).foreach(i => recent.add(state, decision(s"j$i")))
        recent.end(id, ended("j1"))
      })
    }
    threads.foreach(_.start())
    threads.foreach(_.join())
    assert(recent.queries.map(q => (q.executionId, q.decisions.size, q.end.isDefined)) == (1L to 8L).map(id => (id, 50, true)))
  }

  test("long texts of a query are truncated") {
    val recent = new RecentDecisions(1, 1, _ => true)
    val long = decision("j")
    val facts = long.decision.facts.copy(keys = Seq.fill(1000)("k" * 100000))
    recent.add(
      new QueryState(1L),
      long.copy(decision = long.decision.copy(facts = facts), filters = (1 to 1000).map(i => place(s"f$i", "j")))
    )
    assert(SizeEstimator.estimate(recent.queries) < 100000)
  }

  test("with the default limits, all decisions take less than 80 MiB") {
    val recent = new RecentDecisions(AqeConf.DecisionsKeptQueries.default.toInt, AqeConf.DecisionsKeptPerQuery.default.toInt, _ => true)
    for (id <- 1L to 100L) {
      val state = new QueryState(id)
      val joins = (1 to 100).map(i => s"inner:ss_item_sk#$i=sr_item_sk#$i,ss_ticket_number#$i=sr_ticket_number#$i")
      joins.foreach(join => recent.add(state, alone(decision(join))))
      recent.end(id, ended(joins: _*))
    }
    assert(recent.queries.map(_.decisions.size).sum == 10000)
    val bytes = SizeEstimator.estimate(recent.queries)
    info(s"10,000 decisions take ${bytes / 1024} KiB")
    assert(bytes < (80L << 20))
  }
}
