package io.aqeplugin.tell.ui

import scala.xml.{Node, NodeSeq}
import scala.xml.XML

import org.apache.spark.util.kvstore.InMemoryStore
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.decide._
import io.aqeplugin.limit.{LimitChoice, LimitDecision, LimitOperator}
import io.aqeplugin.tell.Quantity

/** The pages as functions of the kept records. */
class TabPagesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  import TabEvents._

  private val links = new Links("/base" + _)

  private def store(events: org.apache.spark.scheduler.SparkListenerEvent*): TabStore = {
    val kv = new InMemoryStore()
    val listener = new TabListener(kv, 1000)
    events.foreach(listener.onOtherEvent)
    new TabStore(kv)
  }

  /** The page as a browser reads it, parsed back: the markup must be well-formed, and its text is what a user reads. */
  private def page(nodes: Seq[Node]): Node = XML.loadString(nodes.mkString("<div>", "", "</div>"))

  private def list(store: TabStore, asked: Option[String] = None, execution: Option[Execution] = None): Node = {
    val paging = Paging.of(asked, store.count)
    page(QueriesView.render(QueriesView.Model(store.totals, paging, store.newest(paging).map(QueriesView.Line(_, execution))), links))
  }

  private def query(store: TabStore, id: Long, execution: Option[Execution] = None): Node =
    page(QueryView.render(store.query(id).map(QueryView.Model(_, execution)), links))

  private def cells(table: NodeSeq): Seq[Seq[String]] = (table \ "tbody" \ "tr").map(row => (row \ "td").map(_.text))

  private def table(page: Node, id: String): NodeSeq = (page \\ "table").filter(table => (table \ "@id").text == id)

  private def hrefs(page: Node): Seq[String] = (page \\ "a").map(a => (a \ "@href").text)

  test("the summary has the totals of the application") {
    val shown = list(store(decided(1), ended(1), decided(2), ended(2, Nil, errors = 1)))
    val facts = (shown \ "ul" \ "li").map(_.text)
    assert(facts.contains("Mode: apply"))
    assert(facts.contains("Queries: 2"))
    assert(facts.contains(s"Joins decided: 2 ${Words.choiceName(Decision.choice.name)}"))
    assert(facts.contains("Filters: 1 of 1 applied"))
    assert(facts.contains("Rows removed: 990 of 1,000 checked, 99.0 %"))
    assert(facts.contains("Errors: 1"))
    assert(!facts.exists(_.startsWith("Events left out")))
  }

  test("a forced join also shows what would have been chosen, and why") {
    val by = Unforced(Strategy.Broadcast, Reason(ReasonCode.Cheapest), buildFilter = false, Reason(ReasonCode.FilterCostsMore))
    val forced = Decision.copy(unforced = Some(by))
    val rows = cells(table(query(store(decided(1, forced), ended(1)), 1), "join-1-options"))
    assert(rows.exists(row => row.head == "broadcast, if it were not forced" && row(2) == "yes" && row(3).startsWith("CHEAPEST")), rows)
    assert(
      rows.exists(row => row.head == "no filter, if it were not forced" && row(2) == "no" && row(3).startsWith("FILTER_COSTS_MORE")),
      rows
    )
  }

  test("a filter tells the files that were not read for want of a key") {
    val left = outcome().stripSuffix("}") + ""","filesLeftOut":180,"bytesLeftOut":3145728}"""
    val shown = query(store(decided(1, filters = s"[${placed()}]"), ended(1, Seq(left))), 1)
    assert(shown.text.contains("applied; files without a key not read: 180 (3.0 MiB)"))
    val all = outcome().stripSuffix("}") + ""","filesLeftOut":180,"filesListed":200,"bytesLeftOut":3145728}"""
    assert(query(store(decided(1), ended(1, Seq(all))), 1).text.contains("not read: 180 of 200 (3.0 MiB)"))
    val kept =
      outcome().stripSuffix("}") + ""","filesKept":{"code":"REWRITES_FILES","measured":null,"limit":null,"unit":"","confKey":""}}"""
    val told = query(store(decided(1, filters = s"[${placed()}]"), ended(1, Seq(kept))), 1)
    assert(told.text.contains("applied; all files read: ") && told.text.contains("REWRITES_FILES"))
  }

  test("the list and a query begin with what was saved or would have been") {
    val saving = JoinSaving("j", applied = true, Some(1234.0), Some(2000.0), 2048, 1024)
    val both = store(
      decided(1),
      ended(1, savings = Seq(saving)),
      decided(2).copy(mode = "observe"),
      ended(2, savings = Seq(saving.copy(applied = false)))
    )
    val said =
      "1.2 s, of all cores 2.0 s, 2.0 KiB of shuffles not written, 1.0 KiB of partitions and files not read; predicted by price, in 1 join"
    assert((list(both) \ "ul" \ "li").map(_.text).take(2) == Seq(s"Saved: $said", s"Would save: $said"))
    assert((query(both, 1) \\ "li").map(_.text).contains(s"Saved: $said"))
    assert((query(both, 2) \\ "li").map(_.text).contains(s"Would save: $said"))
    assert(!list(store(decided(1), ended(1))).text.contains("aved"))
  }

  test("the summary counts the skipped events") {
    val shown = list(store(decided(1), decided(2, schemaVersion = 2)))
    assert(shown.text.contains("Events left out: 1, written by another version of the plugin"))
  }

  test("an application without a decision says so") {
    assert(list(store()).text.contains("Nothing has been decided yet."))
  }

  test("queries are listed newest first, with links to their page and the SQL tab") {
    val execution = Execution("select 1", 5000, "COMPLETED")
    val shown = list(store(decided(1), ended(1), decided(12), ended(12)), execution = Some(execution))
    val rows = cells(table(shown, "runtime-filter-queries"))
    assert(rows.map(_.head) == Seq("12", "1"))
    assert(rows.map(_(1)) == Seq("select 1", "select 1"))
    assert(hrefs(shown).take(2) == Seq("/base/runtime-filters/query/?id=12", "/base/SQL/execution/?id=12"))
  }

  test("with a canary, each query shows its arm; otherwise there is no such column") {
    val plain = store(decided(1), ended(1))
    val tried = store(decided(1, arm = Some("canary")), ended(1), decided(2, arm = Some("<b>own")), decided(3))
    def headers(of: TabStore): Seq[String] = (table(list(of), "runtime-filter-queries") \\ "th").map(_.text.trim)
    assert(!headers(plain).contains("Arm"))
    val at = headers(tried).indexOf("Arm")
    val rows = cells(table(list(tried), "runtime-filter-queries"))
    assert(rows.map(_(at)) == Seq("", "<b>own", "canary"))
    assert(rows.forall(_.size == headers(tried).size))
    assert((query(tried, 1) \ "ul" \ "li").map(_.text).contains("Arm: canary"))
    assert(!(query(plain, 1) \ "ul" \ "li").exists(_.text.startsWith("Arm")))
  }

  test("a page has a limited number of queries, and a missing page shows the nearest") {
    val all = store((1L to Paging.Size * 2 + 5L).flatMap(id => Seq(decided(id), ended(id))): _*)
    def ids(asked: Option[String]): Seq[Long] = cells(table(list(all, asked), "runtime-filter-queries")).map(_.head.toLong)
    assert(ids(None) == (105L to 56L by -1))
    assert(ids(Some("2")) == (55L to 6L by -1))
    assert(ids(Some("3")) == (5L to 1L by -1))
    assert(ids(Some("99")) == ids(Some("3")))
    Seq("0", "-1", "x", "", "99999999999", "<script>").foreach(asked => assert(ids(Some(asked)) == ids(None), asked))
    assert(hrefs(list(all, Some("2"))).filter(_.contains("page=")).distinct == Seq(
      "/base/runtime-filters/?page=1",
      "/base/runtime-filters/?page=3"
    ))
  }

  test("every requested page shows at least one line") {
    forAll { (asked: String, lines: Int) =>
      val paging = Paging.of(Some(asked), lines)
      assert(paging.number >= 1 && paging.number <= paging.pages)
      assert(lines <= 0 || paging.skipped < lines)
    }
  }

  test("a join shows every option with price and reason, the chosen one first") {
    val ruledOut = WeighedOption(
      JoinOption.Broadcast,
      None,
      Reason(
        ReasonCode.BroadcastMemory,
        Some(256.0 * (1 << 20)),
        Some(128.0 * (1 << 20)),
        "bytes",
        "spark.aqePlugin.broadcast.maxMemoryBytes"
      )
    )
    val taken = WeighedOption(JoinOption.FilteredSortMerge, Some(1500), Reason(ReasonCode.Cheapest))
    val decision = Decision.copy(choice = Strategy.FilteredSortMerge, buildFilter = true, options = Seq(ruledOut, taken))
    val rows = cells(table(query(store(decided(1, decision)), 1), "join-1-options"))
    assert(rows.head.take(3) == Seq("filtered sort-merge", "1.5 s100.0 %", "yes"))
    assert(rows(1) == Seq(
      "broadcast",
      "",
      "no",
      "BROADCAST_MEMORY the build side takes too much memory to be broadcast",
      "256.0 MiB",
      "128.0 MiB",
      "spark.aqePlugin.broadcast.maxMemoryBytes"
    ))
    assert(rows(2).head == "a filter in the probe side's scans")
    assert(rows(2)(3).startsWith(decision.filterReason.code.name))
  }

  test("a join shows what Spark by itself does with it") {
    def shown(strategy: Strategy): String = query(store(decided(1, Decision.copy(facts = Facts.copy(sparkStrategy = strategy)))), 1).text
    assert(shown(Strategy.PlainSortMerge).contains("Spark by itself: sort-merge"))
    assert(shown(Strategy.Broadcast).contains("Spark by itself: broadcast"))
    assert(shown(Strategy.LeaveToSpark).contains("Spark by itself: another method"))
  }

  test("a join shows whether its probe side waited, and the estimated saving") {
    val wait = WaitDecision(waits = true, Reason(ReasonCode.WaitPays, Some(900), Some(40), "millis"), 900, 40)
    val decision = Decision.copy(facts = Facts.copy(waiting = Some(wait)))
    val rows = cells(table(query(store(decided(1, decision)), 1), "join-1-options"))
    assert(rows.last.take(3) == Seq("the probe side waits for the build side", "saves 900 ms, idle for 40 ms", "yes"))
  }

  test("a filter shows its size, rows, pass rates and times") {
    val shown = query(store(decided(1, filters = s"[${placed()}]"), ended(1)), 1)
    val rows = cells(table(shown, "join-1-filters"))
    assert(rows.size == 1)
    val row = rows.head
    assert(row.take(7) == Seq("store_sales(ss_item_sk)", "exact", "2.0 KiB", "5", "1,000", "10", "990"))
    assert(row(7).startsWith("1.0 % / "))
    assert(row.drop(8) == Seq("3", "17 ms", "40 ms", "applied"))
  }

  test("a filter that did not work shows the reason") {
    val timeout =
      """{"code":"BUILD_TIMEOUT","measured":31000.0,"limit":30000.0,"unit":"millis","confKey":"spark.aqePlugin.filter.buildTimeout"}"""
    val outcomes = Seq(outcome("a", "pass_all", timeout), outcome("b", "missing"))
    val shown = query(store(decided(1, filters = s"[${placed("c", applied = false)}]"), ended(1, outcomes)), 1)
    val rows = cells(table(shown, "join-1-filters")).map(_.last)
    assert(rows.head == "let every row pass: the filter was not ready in time, so every row passes " +
      "(BUILD_TIMEOUT: 31.0 s against 30.0 s, spark.aqePlugin.filter.buildTimeout)")
    assert(rows(1) == "not found when the scan ran: every row passed")
    assert(rows(2).startsWith("not in the plan: "))
  }

  test("a limit shows what is read, the reason with its numbers, and the files, rows and splits") {
    val left = LimitDecision.leftToSpark(Limit.facts.copy(table = ""), Reason(ReasonCode.LimitSource))
    val observed = Limit.copy(facts = Limit.facts.copy(operator = LimitOperator.Top), choice = LimitChoice.TopFiles)
    val shown = query(
      store(limited(1), limited(1, left, outcome = "null"), limited(1, observed, applied = false), ended(1, Nil)),
      1
    )
    val rows = cells(table(shown, "query-limits"))
    val why = "footers prove that the chosen files hold all rows that the limit takes (ENOUGH_ROWS: 120 rows against 100 rows)"
    assert(rows.head == Seq("limit of the query, 100 rows", "store_sales", "fewest files", why, "2 of 40", "120", "110", "2"))
    assert(rows(1).take(3) == Seq("limit of the query, 100 rows", "", "left to Spark"))
    assert(rows(1)(3).endsWith("(LIMIT_SOURCE)") && rows(1).drop(4).forall(_.isEmpty))
    assert(rows(2).take(3) == Seq("first rows of a sort, 100 rows", "store_sales", "files of the first rows, not applied"))
  }

  test("a predicate shows its table, how it follows, and whether it was applied") {
    val shown = query(store(inferred(1), inferred(1, "k = 'x'", applied = false).copy(inferredBy = "NEWER"), ended(1, Nil)), 1)
    val meaning = "comparisons with columns of other sides bound the column of this side by a constant"
    assert(cells(table(shown, "query-predicates")) == Seq(
      Seq("store_sales", "(day <= 17)", s"INEQUALITY $meaning", "yes"),
      Seq("store_sales", "k = 'x'", "NEWER", "no")
    ))
  }

  test("a query that has only joins shows no limits and no predicates") {
    val only = store(decided(1), ended(1))
    assert(table(query(only, 1), "query-limits").isEmpty && table(query(only, 1), "query-predicates").isEmpty)
    assert(!(table(list(only), "runtime-filter-queries") \\ "th").map(_.text).exists(Set("Limits", "Predicates")))
    assert(!(list(only) \ "ul" \ "li").exists(_.text.startsWith("Limits")))
  }

  test("the list and its summary count limits and predicates") {
    val shown = list(store(inferred(1), limited(1), limited(1), decided(2)))
    val headers = (table(shown, "runtime-filter-queries") \\ "th").map(_.text)
    val rows = cells(table(shown, "runtime-filter-queries"))
    assert(rows.map(row => Seq("Limits", "Predicates").map(header => row(headers.indexOf(header)))) == Seq(Seq("0", "0"), Seq("2", "1")))
    val facts = (shown \ "ul" \ "li").map(_.text)
    assert(facts.contains("Limits: 2, files not read: 76"))
    assert(facts.contains("Predicates across joins: 1"))
  }

  test("a query without a record has a message and a link back") {
    val shown = query(store(decided(1)), 5)
    assert(shown.text.contains("There is no record of query 5"))
    assert(hrefs(shown) == Seq("/base/runtime-filters/?page=1"))
  }

  private val hostile = "</td><script>alert('1')</script><img src=x onerror=\"alert(2)\"> & \" ' \u202edrawkcab \u0000\u001b[31m"

  test("names of queries, tables and keys are never markup") {
    val decision = Decision.copy(facts = Facts.copy(keys = Seq(hostile)))
    val execution = Execution(hostile, 1, hostile)
    val events = store(
      decided(1, decision, filters = s"[${placed(hostile, applied = false)}]"),
      inferred(1, hostile, hostile),
      limited(1, Limit.copy(facts = Limit.facts.copy(table = hostile))),
      ended(1, Seq(outcome(hostile)))
    )
    Seq(list(events, execution = Some(execution)), query(events, 1, Some(execution))).foreach { shown =>
      assert((shown \\ "script").isEmpty && (shown \\ "img").isEmpty)
      assert(shown.text.contains("<script>alert('1')</script>"), "it is shown as it is")
      assert(!shown.text.exists(c => c == '\u202e' || c == '\u0000' || c == '\u001b'))
      assert(shown.text.contains("\\u202edrawkcab \\u0000\\u001b[31m"))
    }
    assert((query(events, 1) \\ "td").exists(_.text.contains("onerror")), "the table's name")
  }

  test("any text gives a well-formed page that shows it") {
    forAll { (description: String) =>
      val whole = description.filterNot(Character.isSurrogate).filterNot(c => c == '\ufffe' || c == '\uffff')
      val shown = list(store(decided(1)), execution = Some(Execution(whole, 1, "COMPLETED")))
      if (!whole.isBlank && whole.length <= 200) assert(shown.text.contains(Html.visible(whole)))
    }
  }

  test("numbers are shown in readable units") {
    assert(Quantity.of(0L, "bytes") == "0 B")
    assert(Quantity.of(1023L, "bytes") == "1,023 B")
    assert(Quantity.of(1024L, "bytes") == "1.0 KiB")
    assert(Quantity.of(Long.MaxValue, "bytes") == "8,192.0 PiB")
    assert(Quantity.of(999L, "millis") == "999 ms")
    assert(Quantity.of(61234L, "millis") == "61.2 s")
    assert(Quantity.of(9999L, "rows") == "9,999 rows")
    assert(Quantity.of(28800000L, "rows") == "28.8 M rows")
    assert(Quantity.of(0.5, "ratio") == "50.0 %")
    assert(Quantity.of(0.0002, "ratio") == "0.0200 %")
    assert(Quantity.of(2.5, "") == "2.50")
  }

  test("a bar stays within its frame and has its numbers as text") {
    forAll { (share: Double, expected: Double) =>
      val bar = XML.loadString(Bars.share(share, Some(expected)).toString)
      assert((bar \ "title").text.contains("expected"))
      (bar \ "rect").foreach { rect =>
        val (from, width) = ((rect \ "@x").text.toDouble, (rect \ "@width").text.toDouble)
        assert(from >= 0 && width >= 0 && from + width <= 120.0)
      }
    }
  }
}
