package io.aqeplugin.e2e

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.logging.log4j.Level
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{SimpleMode, SparkPlan}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, ShuffledHashJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.{Forced, ForcedMethod, ForcedOption}
import io.aqeplugin.metrics.Faults
import io.aqeplugin.observe.JoinFinder
import io.aqeplugin.tell.CapturedLog

/** Every option of every join of some queries, forced in turn: the rows are the same, and the plan has what was forced. */
class ForceSuite extends AnyFunSuite with PluginSession {
  import ForceSuite._

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val columns = "CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v, CAST(id AS int) AS id, 'd' || (id % 20) AS s"
    table("fact", s"SELECT $columns FROM range(600)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, 'd' || id AS name FROM range(12)")
    table("other", "SELECT CAST(id % 40 AS int) AS ok, CAST(id % 11 AS int) AS ov FROM range(50)")
    table("third", "SELECT CAST(id AS int) AS tk, 'd' || (id % 6) AS ts FROM range(9)")
  }

  private def idOf(decision: JsonNode): String = decision.path("facts").path("joinId").asText

  private def decisions(ran: Ran): Map[String, JsonNode] = ran.decided.map(_.decision).map(one => idOf(one) -> one).toMap

  private def joinOf(plan: SparkPlan, id: String): Seq[SparkPlan] =
    collectWithSubqueries(plan) { case node if JoinFinder.of(node).exists(_.id.name == nameOf(id)) => node }

  private def forced(id: String, option: ForcedOption, sql: String): Ran = withConf(Force -> s"$id=${option.name}")(ran(spark.sql(sql)))

  private val Thresholds = Seq("sorts" -> "1", "broadcasts after the shuffle" -> "10m")

  // Outside of `make test-all`, each query has one of the thresholds.
  for {
    ((what, sql), number) <- Queries.toSeq.zipWithIndex
    ((spark_, threshold), other) <- Thresholds.zipWithIndex if Extent.TriesAll || (number + other) % Thresholds.size == 0
  }
    test(s"$what, where Spark $spark_: each option of each join gives the same rows") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> threshold) {
        val rows = withoutPlugin(spark.sql(sql))
        assert(rows.nonEmpty)
        val ids = decisions(ran(spark.sql(sql))).keys.toSeq.sorted
        assert(ids.size >= 2)
        val whole = ids.filter { id =>
          val reasons = ForcedOption.All.map { option =>
            val result = forced(id, option, sql)
            assert(result.rows == rows, s"$id=${option.name} changed the rows")
            check(id, option, result, isOnly = ids.count(nameOf(_) == nameOf(id)) == 1)
          }
          reasons.flatten.forall(_ == "FORCED")
        }
        assert(whole.nonEmpty, "a join that can be forced to every option")
      }
    }

  private def nameOf(id: String): String = id.takeWhile(_ != '#')

  /** Compares the plan with what was forced, unless an obstacle is the reason against it; returns the reasons.
    *
    * @param isOnly
    *   no other join of the query is on columns of equal names
    */
  private def check(id: String, option: ForcedOption, result: Ran, isOnly: Boolean): Seq[String] = {
    val decision = decisions(result).getOrElse(id, fail(s"no decision of $id: ${decisions(result).keys}"))
    val clue = s"$id=${option.name}: ${decision.toPrettyString}\n${result.plan}"
    val method = decision.path("reason").path("code").asText
    val filter = decision.path("filterReason").path("code").asText
    assert(decision.path("options").size == 6, clue)
    assert(filter == "FORCED" || Obstacles(filter), clue)
    assert(filters(result.plan).flatMap(_.labels).exists(_.joinId == id) == (option.withFilter && filter == "FORCED"), clue)
    val nodes = if (isOnly) joinOf(result.plan, id) else Nil
    assert(nodes.nonEmpty == isOnly, clue)
    option.method match {
      case ForcedMethod.Broadcast if method != "FORCED"    => assert(Obstacles(method), clue)
      case ForcedMethod.Broadcast                          => assert(nodes.forall(_.isInstanceOf[BroadcastHashJoinExec]), clue)
      case ForcedMethod.ShuffledHash if method != "FORCED" => assert(Obstacles(method), clue)
      case ForcedMethod.ShuffledHash                       => assert(nodes.forall(_.isInstanceOf[ShuffledHashJoinExec]), clue)
      case ForcedMethod.SortMerge => assert(method == "FORCED" && nodes.forall(_.isInstanceOf[SortMergeJoinExec]), clue)
      case ForcedMethod.OfSpark   => assert(method == "FORCED" || Obstacles(method), clue)
      case ForcedMethod.OfModel   =>
    }
    if (option.method == ForcedMethod.OfModel) Seq(filter) else Seq(method, filter)
  }

  test("a query has the same join ids in every run and session, and * is all of them") {
    val sql = Queries("a table that is joined twice on equal columns")
    def ids(): Seq[String] = decisions(withConf(Force -> "*=no_filter")(ran(spark.sql(sql)))).keys.toSeq.sorted
    val first = ids()
    assert(first == Seq("inner:k=dk", "inner:k=dk#2", "inner:v=n"))
    val _ = spark.sql("SELECT 1").collect()
    assert(ids() == first)
    val other = spark.newSession()
    for (name <- Seq("fact", "dim")) other.read.parquet(folder.resolve(s"parquet-$name").toString).createOrReplaceTempView(name)
    val mark = events.mark()
    val _ = other.sql(sql).collect()
    drain()
    val there = events.since(mark).collect { case decided: io.aqeplugin.tell.JoinDecided => idOf(decided.decision) }
    assert(there.sorted == first)
  }

  test("a join that Spark broadcasts stays so, and may be forced to have a filter") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m") {
      val sql = "SELECT * FROM fact JOIN dim ON k = dk"
      val rows = withoutPlugin(spark.sql(sql))
      val kept = forced("inner:k=dk", ForcedOption.FilteredBroadcast, sql)
      assert(kept.rows == rows && filtered(kept) == Seq("parquet-fact(k)"))
      val refused = forced("inner:k=dk", ForcedOption.PlainSortMerge, sql)
      assert(refused.rows == rows && filters(refused.plan).isEmpty)
      val decision = decisions(refused)("inner:k=dk")
      assert(decision.path("reason").path("code").asText == "ALREADY_BROADCAST", decision)
      assert(decision.path("filterReason").path("code").asText == "FORCED", decision)
    }
  }

  for (option <- Seq(ForcedOption.PlainSortMerge, ForcedOption.ShuffledHash, ForcedOption.LeaveToSpark))
    test(s"a join that is forced to ${option.name} has no filter because of that") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "1") {
        val id = "inner:k=dk"
        val decision = decisions(forced(id, option, "SELECT * FROM fact JOIN dim ON k = dk"))(id)
        val filtered = decision.path("options").elements.asScala.filter(_.path("withFilter").asBoolean).toSeq
        assert(filtered.map(_.path("reason").path("code").asText) == Seq("FORCED", "FORCED", "FORCED"), decision.toPrettyString)
      }
    }

  test("a broadcast above the memory limit is refused with the measured bytes") {
    withConf(
      "spark.sql.autoBroadcastJoinThreshold" -> "1",
      "spark.aqePlugin.broadcast.maxMemoryBytes" -> "1",
      Force -> "*=broadcast"
    ) {
      val result = ran(spark.sql("SELECT * FROM fact JOIN dim ON k = dk"))
      val reason = decisions(result)("inner:k=dk").path("reason")
      assert(reason.path("code").asText == "BROADCAST_MEMORY" && reason.path("measured").asDouble > 1)
    }
  }

  test("after a typing error, joins are decided as if nothing were forced, and one warning says what to do") {
    val sql = "SELECT * FROM fact JOIN dim ON k = dk"
    val told = ran(spark.sql(sql)).decided.map(_.decision)
    val faults = Faults.count
    val typed = "inner:k=dk=brodcast"
    val (lines, seen) = withConf(Force -> typed)(CapturedLog.during(Level.WARN)((1 to 2).map(_ => ran(spark.sql(sql)))))
    assert(seen.map(_.decided.map(_.decision.path("choice").asText)) == Seq.fill(2)(told.map(_.path("choice").asText)))
    assert(seen.forall(_.decided.forall(one => !one.decision.toString.contains("FORCED"))), seen.head.decided)
    assert(seen.flatMap(_.ended).map(end => end.errors -> end.badConf) == Seq.fill(2)(0L -> None))
    assert(Faults.count == faults)
    assert(lines.filter(_.contains(Force)) == Seq(
      s"aqe-plugin: Bad value for $Force: entry 1, '$typed': 'brodcast' is no option. Allowed: ${Forced.Allowed.text}. " +
        "Until it is corrected, no join is forced and all are decided as if the key were not set."
    ))
  }

  test("EXPLAIN names a typing error in what is forced beside the lines of its joins") {
    val lines = withConf(Force -> "*=brodcast")(explained(spark.sql("SELECT * FROM fact JOIN dim ON k = dk")))
    assert(lines.exists(_.startsWith("inner:k=dk: ")) && lines.last.startsWith(s"Bad value for $Force: entry 1, '*=brodcast'"), lines)
  }

  private def explained(frame: DataFrame): Seq[String] =
    frame.queryExecution.explainString(SimpleMode).linesIterator.dropWhile(!_.contains("(aqe-plugin)")).drop(1).filter(_.nonEmpty).toSeq
}

object ForceSuite {
  private val Force = "spark.aqePlugin.force"

  /** The side that may be filtered is an aggregate's count, which only another join than a broadcast join shuffles; the side whose rows are all kept is broadcast by no join and waits for no filter;
    * Spark broadcasts the other side by itself.
    */
  private val Obstacles = Set("NO_TARGET_SCAN", "JOIN_TYPE", "BROADCAST_JOIN_TYPE", "SHUFFLED_HASH_JOIN_TYPE", "NO_BUILD_EXCHANGE")

  private val Queries: Map[String, String] = Map(
    "a chain of joins" -> "SELECT * FROM fact JOIN dim ON k = dk JOIN other ON v = ov JOIN third ON s = ts",
    "an outer and a semi join" ->
      "SELECT id, name FROM fact LEFT JOIN dim ON k = dk WHERE EXISTS (SELECT 1 FROM other WHERE ov = v AND ok > 3)",
    "a table that is joined twice on equal columns" ->
      "SELECT a.id, b.n FROM fact a JOIN dim ON a.k = dk JOIN (SELECT k, count(*) AS n FROM fact JOIN dim ON k = dk GROUP BY k) b ON a.v = b.n",
    "a join above an aggregate" ->
      "SELECT f.id, g.n FROM fact f JOIN (SELECT v, count(*) AS n FROM fact JOIN third ON s = ts GROUP BY v) g ON f.v = g.v"
  )
}
