package io.aqeplugin.e2e

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.functions.udf
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide.{LookFacts, Reason, ReasonCode, Thresholds}
import io.aqeplugin.observe._
import io.aqeplugin.tell.ExplainSection

/** Joins that can save less than it costs to look at them. */
class QuickLookSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map(AqeConf.CostLookNanosPerJoin.key -> AqeConf.CostLookNanosPerJoin.defaultText)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("one", "two", "three")) table(name, "SELECT id AS k, id % 5 AS v FROM range(100)")
    table("large", "SELECT id AS k, md5(string(id)) AS v FROM range(200000)")
  }

  private val Small = "SELECT count(*), sum(a.v) FROM one a JOIN two b ON a.k = b.k JOIN three c ON b.k = c.k WHERE c.v = 2"

  private def codes(ran: Ran): Seq[String] = ran.decided.map(_.decision.get("reason").get("code").textValue)

  private def assertLookedAt(ran: Ran): Assertion =
    assert(ran.decided.nonEmpty && !codes(ran).contains("NOT_WORTH_LOOKING"), ran.decided)

  /** Without the numbers that each plan has anew. */
  private def text(ran: Ran): String = ran.plan.toString.replaceAll("#\\d+L?|plan_id=\\d+", "")

  for (mode <- Seq("apply", "observe"); threshold <- Seq("10m", "-1"))
    test(s"joins of small tables keep Spark's plan, and the reason has what they read: mode $mode, broadcasts up to $threshold") {
      withConf("spark.aqePlugin.mode" -> mode, "spark.sql.autoBroadcastJoinThreshold" -> threshold) {
        val off = withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(Small)))
        val on = ran(spark.sql(Small))
        assert(on.rows == off.rows && on.rows == Seq("[20, 40]"))
        assert(text(on) == text(off) && on.jobs == off.jobs)
        assert(codes(on) == Seq("NOT_WORTH_LOOKING", "NOT_WORTH_LOOKING"))
        on.decided.foreach { decided =>
          val look = decided.decision.get("facts").get("look")
          assert(look.get("joins").intValue == 2 && look.get("bytes").longValue > 0 && decided.mode == mode)
          assert(look.get("joinedRows").longValue + look.get("lookups").longValue > look.get("rows").longValue)
        }
      }
    }

  test("joins of larger tables are looked at") {
    val query = "SELECT count(*) FROM large a JOIN large b ON a.k = b.k WHERE b.v < '8'"
    assertLookedAt(ran(spark.sql(query)))
  }

  test("at a price of 0, all joins are looked at") {
    withConf(AqeConf.CostLookNanosPerJoin.key -> "0")(assertLookedAt(ran(spark.sql(Small))))
  }

  private def said(query: QueryExecution): Seq[String] = new ExplainSection().generateExtendedInfo(query.executedPlan).linesIterator.toSeq

  for ((by, threshold) <- Seq("broadcasts" -> "10m", "sorts" -> "-1"))
    test(s"EXPLAIN says that a run does not look at the joins, shows its plan, and tells what looking would find: a plan that $by") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> threshold) {
        def explained(query: String): String = spark.sql(s"EXPLAIN FORMATTED $query").head().getString(0)
        val on = explained(Small)
        val off = withConf("spark.aqePlugin.mode" -> "off")(explained(Small))
        def planOf(text: String): String = text.split("\\(aqe-plugin\\) ==").head.replaceAll("#\\d+L?|plan_id=\\d+", "")
        assert(planOf(on) == planOf(off))
        // The root of this plan is a join itself.
        for (query <- Seq(Small -> 2, "SELECT * FROM one a JOIN two b ON a.k = b.k" -> 1)) {
          val lines = said(spark.sql(query._1).queryExecution)
          assert(
            lines.head.matches(
              "a query that runs leaves (its join|its 2 joins) to Spark .*\\(NOT_WORTH_LOOKING: .* against .*\\); looked at:"
            ),
            lines
          )
          assert(lines.tail.size == query._2 && lines.tail.forall(_.startsWith("inner:")), lines)
          assert(!lines.tail.exists(_.contains("NOT_WORTH_LOOKING")), lines)
          val explained = spark.sql(query._1)
          assert(said(explained.queryExecution) == said(explained.queryExecution), "EXPLAIN twice")
        }
      }
    }

  test("a query that has run says why its joins were not looked at") {
    val frame = spark.sql(Small)
    val _ = frame.collect()
    val lines = said(frame.queryExecution)
    assert(lines.size == 1 && lines.forall(_.startsWith("2 joins left to Spark and not looked at (NOT_WORTH_LOOKING: ")), lines)
  }

  test("a query that is planned before it runs does not look at its joins when it runs, and says so") {
    val frame = spark.sql(Small)
    val planned = frame.queryExecution.executedPlan
    val _ = frame.collect()
    assert(new ExplainSection().generateExtendedInfo(planned).linesIterator.toSeq.forall(_.startsWith("2 joins left to Spark and not")))
  }

  test("of joins that nobody looked at, no option is weighed, and the table has no sizes") {
    val on = ran(spark.sql(Small))
    on.decided.foreach { decided =>
      val options = decided.decision.get("options").elements.asScala.toSeq
      assert(options.size == 6 && options.forall(one =>
        one.get("costMillis").isNull && one.get("reason").get("code").textValue == "NOT_WORTH_LOOKING"
      ))
    }
    val columns =
      "build_rows, build_bytes, build_memory_bytes, predicted_pass_rate, predicted_cost_millis, predicted_spark_cost_millis, probe_rows"
    val rows = spark.sql(s"SELECT $columns FROM aqe_decisions() WHERE reason = 'NOT_WORTH_LOOKING'").collect()
    assert(rows.nonEmpty && rows.forall(row => row.toSeq.forall(Option(_).isEmpty)), rows.toSeq)
  }

  private def facts(text: String): LookFacts = {
    val query = spark.sql(text).queryExecution
    query.sparkPlan.logicalLink.flatMap(QuickLook.of(_, query.sparkPlan, slots = 2)).getOrElse(fail("no facts"))
  }

  test("rows that Spark looks up in a small broadcast are not counted as moved; a lookup by more than an integer counts as four") {
    def joined(keys: String, threshold: String): LookFacts = withConf("spark.sql.autoBroadcastJoinThreshold" -> threshold)(
      facts(s"SELECT a.v FROM large a JOIN one b ON a.k = b.k JOIN two c ON $keys")
    )
    val (sorted, once, four) = (joined("a.k = c.k", "-1"), joined("a.k = c.k", "64k"), joined("a.k = c.k AND a.v = c.v", "64k"))
    val ofLarge = four.lookups - once.lookups
    assert(sorted.lookups == 0 && ofLarge % 3 == 0 && ofLarge / 3 >= 200000)
    // Each row of the large table, once for either join.
    assert(once.lookups >= 400000 && once.joinedRows == sorted.joinedRows - once.lookups)
  }

  test("of files that are kept by columns, those that are read count") {
    val _ = spark.sql("CREATE TABLE lines USING csv AS SELECT * FROM large")
    def bytes(table: String, columns: String): Long = facts(s"SELECT $columns FROM $table a JOIN one b ON a.k = b.k").bytes
    assert(bytes("large", "a.k") < bytes("large", "a.k, a.v") / 3 && bytes("lines", "a.k") == bytes("lines", "a.k, a.v"))
  }

  test("rows that become more, or may cost anything, have no bound") {
    val plusOne = udf((value: Long) => value + 1)
    spark.udf.register("plus_one", plusOne)
    val queries = Seq(
      "SELECT count(*) FROM (SELECT explode(sequence(1, 1000)) AS k FROM one) a JOIN two b ON a.k = b.k",
      "SELECT count(*) FROM (SELECT x.k FROM one x CROSS JOIN three y) a JOIN two b ON a.k = b.k",
      "SELECT count(*) FROM one a JOIN two b ON a.k = b.k WHERE plus_one(a.v) > 2"
    )
    queries.foreach(query => assertLookedAt(ran(spark.sql(query))))
    // A checkpoint has the size of what it was made of.
    spark.sql("SELECT explode(sequence(1, 1000)) AS k FROM one").localCheckpoint().createOrReplaceTempView("exploded")
    assertLookedAt(ran(spark.sql("SELECT count(*) FROM exploded a JOIN two b ON a.k = b.k")))
  }

  test("a stage that runs counts as the tables that it was planned from") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val query = spark.sql(
        "SELECT x.v, y.v FROM (SELECT a.v, sum(a.k) AS s FROM one a JOIN two b ON a.k = b.k GROUP BY a.v) x JOIN three y ON x.v = y.k"
      ).queryExecution
      val inPart = query.optimizedPlan.transformDown { case part: Aggregate => LogicalQueryStage(part, query.sparkPlan) }
      val whole = QuickLook.of(query.optimizedPlan, query.sparkPlan, slots = 2)
      assert(whole.exists(_.joins == 2) && QuickLook.of(inPart, query.sparkPlan, slots = 2) == whole.map(_.copy(joins = 1)))
    }
  }

  test("joins of small tables are not looked at where their rows are written, or counted several ways") {
    val _ = spark.sql("CREATE TABLE written USING parquet AS SELECT k, v FROM one WHERE k < 0")
    val queries = Seq(
      "INSERT INTO written SELECT a.k, b.v FROM one a JOIN two b ON a.k = b.k",
      "SELECT a.v, b.v, count(*) FROM one a JOIN two b ON a.k = b.k GROUP BY ROLLUP (a.v, b.v)"
    )
    queries.foreach(query => assert(codes(ran(spark.sql(query))) == Seq("NOT_WORTH_LOOKING"), query))
  }

  test("a stage with more rows than its file's bytes promise makes the joins worth a look") {
    table("same", "SELECT id DIV 2000 * 10 AS k FROM range(400000)")
    val on = ran(spark.sql("SELECT /*+ BROADCAST(d) */ count(*) FROM one f JOIN same d ON f.k = d.k"))
    assert(on.rows == Seq("[20000]"))
    assertLookedAt(on)
    assert(!new ExplainSection().generateExtendedInfo(on.plan).contains("NOT_WORTH_LOOKING"), "EXPLAIN has what held before the stage")
  }

  test("joins that were passed by have the names that they would have if they had been looked at: in the order in which they were met") {
    val state = new QueryState(1)
    val plans = for ((left, right) <- Seq("one" -> "two", "two" -> "three", "three" -> "one"))
      yield spark.sql(s"SELECT a.k FROM $left a JOIN $right b ON a.k = b.k").queryExecution.sparkPlan
    plans.foreach(plan => state.passBy(PassedBy(plan, LookFacts(1, 0, 0, 0, 0, 1), Reason(ReasonCode.NotWorthLooking), None)))
    state.look()
    assert(plans.reverse.flatMap(JoinFinder.find).map(join => state.nameOf(join.id)) == Seq("inner:k=k#3", "inner:k=k#2", "inner:k=k"))
  }

  test("an application that has stopped still records the joins that nobody looked at") {
    val state = new QueryState(1)
    val cluster = new ClusterSeen(fail("a stopped application is asked for its executors"))
    val origin = QueryOrigin.of(spark, spark.sparkContext)
    val _ = state.confOnce(QueryConf(Mode.Apply, Thresholds.Default, cluster, PruningBuilds.None, origin, None))
    val _ = state.passBy(PassedBy(
      spark.sql("SELECT a.k FROM one a JOIN two b ON a.k = b.k").queryExecution.sparkPlan,
      LookFacts(1, 0, 0, 0, 0, slots = 3),
      Reason(ReasonCode.NotWorthLooking),
      None
    ))
    assert(state.endJoins().map(one => (one.reason.code.name, one.facts.cluster.slots)) == Seq(("NOT_WORTH_LOOKING", 3)))
  }

  test("a large table of which only the catalog says that it is small gets its filter, although it is in the last stage") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE keys USING parquet PARTITIONED BY (p) AS SELECT id * 500 AS k, 1 AS p FROM range(2000)")
      spark.sql(
        "CREATE TABLE lying_facts USING parquet PARTITIONED BY (p) AS SELECT id AS k, md5(string(id)) AS v, 1 AS p FROM range(1000000)"
      )
    }
    val query = "SELECT count(*), max(f.v) FROM lying_facts f JOIN keys d ON f.k = d.k"
    val off = withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query)))
    for ((table, rows) <- Seq("keys" -> 2000L, "lying_facts" -> 3000L))
      spark.sessionState.catalog.alterTableStats(TableIdentifier(table), Some(CatalogStatistics(rows * 8, Some(rows))))
    val on =
      withConf(AqeConf.CostJobLaunchNanos.key -> "0", AqeConf.CostLookNanosPerJoin.key -> "25000000")(ran(spark.sql(query)))
    assert(on.rows == off.rows)
    assert(filtered(on).size == 1, s"${on.decided.map(_.decision)}\n${on.plan}")
    assert(outcomes(on).map(_.get("rowsOut").longValue).sum < 300000)
  }

  test("of a query without joins, nothing is recorded") {
    val alone = ran(spark.sql("SELECT v, count(*) FROM one GROUP BY v"))
    assert(alone.decided.isEmpty && alone.ended.isEmpty)
  }
}
