package io.aqeplugin.tell.ui

import org.apache.spark.util.kvstore.InMemoryStore
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.metrics.Faults
import io.aqeplugin.decide.{JoinSaving, Reason, ReasonCode, Strategy}
import io.aqeplugin.limit.{LimitChoice, LimitDecision, LimitOutcome}
import io.aqeplugin.tell.{JoinDecided, QueryEnded}

class TabListenerSuite extends AnyFunSuite {
  import TabEvents._

  private final class Fixture(retained: Int = 1000) {
    val kv = new InMemoryStore()
    val store = new TabStore(kv)
    private val listener = new TabListener(kv, retained)
    def see(events: org.apache.spark.scheduler.SparkListenerEvent*): Fixture = {
      events.foreach(listener.onOtherEvent)
      this
    }
    def records: Seq[Long] =
      Seq(
        classOf[QueryRecord],
        classOf[JoinRecord],
        classOf[OutcomesRecord],
        classOf[LimitRecord],
        classOf[PredicateRecord]
      ).map(kv.count(_))
  }

  private val leftToSpark = Decision.copy(choice = Strategy.LeaveToSpark)

  test("a running query has its joins and no outcome yet") {
    val store = new Fixture().see(decided(7, filters = s"[${placed()}]"), decided(7, leftToSpark)).store
    val query = store.find(7).getOrElse(fail("the query is not kept"))
    assert((query.firstMillis, query.mode, query.joins, query.ended) == ((1007L, "apply", 2, false)))
    assert(query.choices == Seq(ChoiceCount(Decision.choice.name, 1), ChoiceCount("leave_to_spark", 1)))
    val story = store.query(7).fold(fail(_), identity)
    assert(story.joins.map(_.number) == Seq(1, 2))
    assert(story.joins.map(_.decision) == Seq(Decision, leftToSpark))
    assert(story.joins.map(_.filters.map(_.table)) == Seq(Seq("store_sales"), Nil))
    assert(story.joins.forall(_.outcomes.isEmpty))
  }

  test("the end of a query adds its filter outcomes and the totals") {
    val lost = outcome("web_sales", "pass_all", """{"code":"BUILD_TIMEOUT","measured":31.0,"limit":30.0,"unit":"millis","confKey":"k"}""")
    val store = new Fixture().see(decided(7), ended(7, Seq(outcome(), lost), errors = 2), decided(9), ended(9, Nil)).store
    val query = store.find(7).getOrElse(fail("the query is not kept"))
    assert((query.ended, query.durationMillis, query.ruleMillis, query.errors) == ((true, 900L, 8L, 2L)))
    assert(query.filters == FilterSums(2, 2, 1, 2000, 20, 2048, 40))
    assert(store.query(7).map(_.joins.flatMap(_.outcomes).map(_.kind)) == Right(Seq("exact", "pass_all")))
    val totals = store.totals
    assert((totals.queries, totals.errors, totals.mode, totals.skipped) == ((2L, 2L, "apply", 0L)))
    assert(totals.choices == Seq(ChoiceCount(Decision.choice.name, 2)))
    assert(totals.filters.rowsRemoved == 1980)
  }

  test("what joins saved is summed up by query and in all, apart from what would have been saved") {
    val saving = JoinSaving("j", applied = true, Some(1200.0), Some(2000.0), 1024, 0)
    val dearer = JoinSaving("k", applied = true, Some(-200.0), None, 0, 512)
    val observed = decided(9).copy(mode = "observe")
    val store = new Fixture().see(
      decided(7),
      ended(7, savings = Seq(saving, dearer)),
      observed,
      ended(9, savings = Seq(saving.copy(applied = false)))
    ).store
    assert(store.find(7).map(_.saved).contains(SavingSums(2, 1000, 2000, 1024, 512)))
    assert((store.totals.saved, store.totals.wouldSave) == ((SavingSums(2, 1000, 2000, 1024, 512), SavingSums(1, 1200, 2000, 1024, 0))))
  }

  test("a filter that its scan did not find counts as missing, not as applied") {
    val store = new Fixture().see(decided(7), ended(7, Seq(outcome(kind = "missing")))).store
    assert(store.find(7).map(_.filters.missing).contains(1L))
    assert(store.query(7).map(_.joins.flatMap(_.outcomes).map(_.found)) == Right(Seq(false)))
  }

  test("events that this version cannot read are counted and skipped") {
    val before = Faults.count
    val noChoice = decided(1)
    val strange = Seq(
      decided(1, schemaVersion = 2),
      decided(1, schemaVersion = 0),
      ended(1, schemaVersion = 2),
      decided(-1),
      decided(1, filters = "{}"),
      limited(1, schemaVersion = 2),
      limited(-1),
      limited(1, outcome = "{}"),
      limited(1, outcome = "7"),
      limited(1).copy(decision = array("{}")),
      inferred(1, schemaVersion = 2),
      inferred(-1),
      noChoice.copy(decision = array("""{"schemaVersion":1}""")),
      noChoice.copy(decision = array("7")),
      ended(1, Seq("{}")),
      JoinDecided(1, 1, 1, "", array("null"), array("null")),
      QueryEnded(1, 1, 1, 1, 1, 1, 1, 1, array("null"))
    )
    val fixture = new Fixture().see(strange: _*).see(decided(3))
    assert(fixture.store.totals.skipped == strange.size)
    assert(fixture.store.newest(Paging.of(None, 1)).map(_.executionId) == Seq(3))
    assert(Faults.count == before, "an event that cannot be read is no fault of the plugin")
  }

  test("above the limit, the oldest queries are dropped, and the totals stay") {
    val retained = 20
    val fixture = new Fixture(retained)
    (1L to 100L).foreach { id =>
      fixture.see(inferred(id), decided(id), decided(id), limited(id), ended(id))
      val queries = fixture.records.head
      assert(queries <= retained && fixture.records == Seq(queries, 2 * queries, queries, queries, queries), s"after query $id")
    }
    val kept = fixture.store.newest(Paging.of(None, retained)).map(_.executionId)
    assert(kept.head == 100 && kept == kept.sorted.reverse && kept.size >= retained * 9 / 10)
    assert(fixture.store.totals.queries == 100)
    assert(fixture.store.query(1).left.exists(_.contains("There is no record of query 1")))
  }

  test("with a limit of one, the latest query is kept") {
    val fixture = new Fixture(retained = 1).see(decided(1), ended(1), decided(2))
    assert(fixture.store.newest(Paging.of(None, 1)).map(_.executionId) == Seq(2))
  }

  test("the first joins, limits and predicates of a query are kept, and all are counted") {
    val many = PartRecords.MaxPerQuery + 5
    val fixture = new Fixture().see(Seq.fill(many)(Seq(decided(1), limited(1), inferred(1))).flatten: _*)
    assert(fixture.store.find(1).map(query => (query.joins, query.limits, query.predicates)).contains((many, many, many)))
    val story = fixture.store.query(1).fold(fail(_), identity)
    assert(Seq(story.joins.size, story.limits.size, story.predicates.size) == Seq.fill(3)(PartRecords.MaxPerQuery))
  }

  test("a query without a join has its limits and predicates") {
    val left = LimitDecision.leftToSpark(Limit.facts.copy(table = ""), Reason(ReasonCode.LimitSource))
    val store = new Fixture().see(inferred(7), limited(7), limited(7, left, applied = false, outcome = "null"), ended(7, Nil)).store
    val story = store.query(7).fold(fail(_), identity)
    assert((story.query.firstMillis, story.query.joins, story.query.ended) == ((507L, 0, true)))
    assert(story.limits == Seq(
      LimitStory(Limit, applied = true, Some(LimitOutcome(40, 110, Some(2)))),
      LimitStory(left, applied = false, None)
    ))
    assert(story.predicates.map(found => (found.table, found.predicate, found.applied)) == Seq(("store_sales", "(day <= 17)", true)))
    assert((store.totals.queries, store.totals.limits, store.totals.limitFilesLeftOut, store.totals.predicates) == ((1L, 2L, 38L, 1L)))
  }

  test("files are not counted as left out when a limit is only observed") {
    val observed = Limit.copy(choice = LimitChoice.TopFiles)
    assert(new Fixture().see(limited(1, observed, applied = false)).store.totals.limitFilesLeftOut == 0)
  }

  test("the mode of an inferred predicate does not replace that of a decision") {
    val store = new Fixture().see(decided(1), inferred(1, applied = false), inferred(2, applied = false)).store
    assert(store.find(1).map(_.mode).contains("apply"))
    assert(store.find(2).map(_.mode).contains("observe"))
    assert(store.totals.mode == "apply")
  }

  test("the mode of a limit counts where no join was decided") {
    val store = new Fixture().see(limited(1, mode = "observe"), decided(2), limited(2, mode = "observe")).store
    assert(store.find(1).map(_.mode).contains("observe"))
    assert(store.find(2).map(_.mode).contains("apply"))
    assert(store.totals.mode == "apply")
    assert(new Fixture().see(limited(1), limited(2, mode = "observe")).store.totals.mode == "observe")
  }

  test("a limit from an event log may lack its outcome") {
    val absent = limited(1).copy(outcome = array("{}").path("outcome"))
    assert(new Fixture().see(absent).store.query(1).map(_.limits.map(_.outcome)) == Right(Seq(None)))
  }

  test("a query with only a fault is shown; a query without decisions is not") {
    val fixture = new Fixture().see(ended(1, Nil, errors = 3), ended(2, Nil))
    assert(fixture.store.newest(Paging.of(None, 2)).map(q => q.executionId -> q.errors) == Seq(1L -> 3L))
    assert(fixture.store.totals.errors == 3)
    assert(fixture.store.totals.queries == 0)
  }

  test("long texts that are not shown are not kept") {
    val key = "k" * 100000
    val fixture = new Fixture().see(decided(1, Decision.copy(facts = Facts.copy(keys = Seq(key)))))
    assert(fixture.kv.view(classOf[JoinRecord]).iterator().next().decision.length < 10000)
  }
}
