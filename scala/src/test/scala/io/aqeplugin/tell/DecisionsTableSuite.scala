package io.aqeplugin.tell

import java.util.concurrent.{Callable, CountDownLatch, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{AnalysisException, DataFrame, Row, SparkSession}
import org.apache.spark.sql.functions.col
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.docs.DecisionsTableDocs
import io.aqeplugin.e2e.PluginSession

/** `aqe_decisions()` in SQL, for queries that really ran. */
class DecisionsTableSuite extends AnyFunSuite with PluginSession with Eventually {
  import DecisionsTableSuite._

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(timeout = Span(60, Seconds), interval = Span(1, Seconds))

  override protected def applicationConf: Map[String, String] = Map(
    // One test holds two tasks while other queries read.
    "spark.master" -> "local[4]",
    AqeConf.DecisionsKeptQueries.key -> "12",
    AqeConf.DecisionsKeptPerQuery.key -> "2",
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.redaction.string.regex" -> "secret-[0-9]+",
    AqeConf.TestOpenGates.key -> "true"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v FROM range(3000)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id AS int) AS dv FROM range(4)")
    Seq("fact", "dim").foreach(name => spark.table(name).createOrReplaceGlobalTempView(s"g_$name"))
  }

  private val Query = "SELECT * FROM global_temp.g_fact JOIN global_temp.g_dim ON k = dk"

  /** Runs a query under a name by which its rows are found. */
  private def named[A](name: String)(body: => A): A = {
    spark.sparkContext.setJobDescription(name)
    try body
    finally {
      spark.sparkContext.setJobDescription(null)
      drain()
    }
  }

  private def decisions(of: String, session: SparkSession = spark): DataFrame =
    session.sql("SELECT * FROM aqe_decisions()").where(col("description") === of)

  private def only(of: String): Row = {
    val rows = decisions(of).collect()
    assert(rows.length == 1, rows.mkString("\n"))
    rows.head
  }

  private def value[A](row: Row, column: String): A = row.getAs[A](column)

  private def recorded(mark: Int): Seq[Any] = events.since(mark).collect { case event @ (_: JoinDecided | _: QueryEnded) => event }

  private def count(): Long = spark.sql("SELECT count(*) FROM aqe_decisions()").head().getLong(0)

  test("a row agrees with the events") {
    val result = named("as the events")(ran(spark.sql(Query)))
    val decided = result.decided.head
    val outcome = outcomes(result).head
    val row = only("as the events")
    val decision = DecisionJson.parse(decided.decision.toString).fold(fail(_), identity)
    assert(value[Long](row, "execution_id") == decided.executionId)
    assert(value[java.sql.Timestamp](row, "decided_at").getTime == decided.timeMillis)
    assert(value[String](row, "query_status") == "succeeded")
    assert(value[Long](row, "query_millis") == result.ended.head.durationMillis)
    assert(value[String](row, "mode") == "apply")
    assert(value[String](row, "join_id") == decision.facts.joinId)
    assert(value[String](row, "join_type") == "inner")
    assert(value[String](row, "build_side") == "right")
    assert(value[String](row, "choice") == decision.choice.name)
    assert(value[String](row, "reason") == decision.reason.code.name)
    assert(value[Boolean](row, "with_filter"))
    assert(value[String](row, "filter_reason") == decision.filterReason.code.name)
    assert(value[Double](row, "predicted_pass_rate") == decision.passRate)
    assert(value[Long](row, "build_rows") == 4)
    assert(value[Long](row, "build_bytes") == decision.facts.build.stageBytes)
    assert(value[Long](row, "build_memory_bytes") == decision.facts.build.memoryBytes)
    assert(value[Long](row, "probe_rows") == decision.facts.probe.rows)
    assert(value[String](row, "wait_reason") == decision.facts.waiting.map(_.reason.code.name).orNull)
    assert(value[String](row, "filter_status") == "applied")
    assert(value[String](row, "filter_kind") == outcome.get("kind").textValue)
    assert(value[Long](row, "filter_rows_in") == 3000)
    assert(value[Long](row, "filter_rows_out") == outcome.get("rowsOut").longValue)
    assert(value[Long](row, "filter_bytes") == outcome.get("filterBytes").longValue)
    assert(value[Long](row, "filter_wait_millis") == outcome.get("waitMillis").longValue)
    assert(!value[Boolean](row, "filter_self_disabled"))
    val filters = row.getSeq[Row](row.fieldIndex("filters"))
    assert(filters.map(f => (value[Seq[String]](f, "columns"), value[String](f, "status"))) == Seq((Seq("k"), "applied")))
    val others = row.getSeq[Row](row.fieldIndex("options_not_taken"))
    assert(others.map(value[String](_, "reason")) == decision.options.filterNot(o =>
      decision.taken.contains(o.option)
    ).map(_.reason.code.name))
    val recorded = Json.parseObject(value[String](row, "events")).fold(fail(_), identity)
    assert(value[Double](row, "saved_millis") == recorded.get("saving").get("elapsedMillis").doubleValue)
    assert(value[Double](row, "saved_processor_millis") == recorded.get("saving").get("processorMillis").doubleValue)
    assert(recorded.get("decision").toString == decided.decision.toString)
    assert(recorded.get("filters").toString == decided.filters.toString)
    assert(recorded.get("outcomes").toString == result.ended.head.outcomes.toString)
    val ended = result.ended.head
    // The event of a short query has none.
    val inEvent = if (JoinFlips.joinsToRecord(ended.durationMillis) > 0) recorded.get("flips").toString else "[]"
    assert(recorded.get("flips").size > 0 && ended.flips.toString == inEvent)
  }

  test("a row has the values of its facts at which the decision changes") {
    withConf(AqeConf.FilterMaxBytes.key -> "1k")(named("near a limit")(spark.sql(Query).collect()))
    val row = only("near a limit")
    assert(value[String](row, "choice") == "filtered_sort_merge")
    val flips = row.getSeq[Row](row.fieldIndex("flip_points")).filter(value[String](_, "fact") == "build_rows")
    assert(flips.map(flip => (value[Double](flip, "actual"), value[String](flip, "choice"))) == Seq((4.0, "plain_sort_merge")))
    assert(flips.map(value[Double](_, "value")).forall(rows => rows > 4 && rows < 4096), flips)
  }

  test("every example query of the documentation returns rows") {
    named("filtered, for the examples")(spark.sql(Query).collect())
    withConf(AqeConf.TestOpenGates.key -> "false")(named("unfiltered, for the examples")(spark.sql(Query).collect()))
    assert(DecisionsTableDocs.Examples.filter { case (_, query) => spark.sql(query).isEmpty }.isEmpty)
  }

  test("aqe_decide accepts the facts of a row") {
    named("decided again")(spark.sql(Query).collect())
    val again = spark.sql(
      """SELECT get_json_object(aqe_decide(facts, '{"test.openGates": true}'), '$.choice') = choice FROM aqe_decisions()
        |WHERE description = 'decided again'""".stripMargin
    )
    assert(again.collect().toSeq == Seq(Row(true)))
  }

  test("a running query has decisions; its filter outcomes come when it has ended") {
    val session = spark
    session.udf.register("held", (value: Int) => if (Held.await(120, TimeUnit.SECONDS)) value else sys.error("held for too long"))
    val pool = Executors.newSingleThreadExecutor()
    try {
      val running = pool.submit { () =>
        session.sparkContext.setJobDescription("held up")
        session.sql("SELECT * FROM (SELECT k, held(v) AS x FROM fact) JOIN dim ON k = dk AND x > dv - 99").collect().length
      }
      eventually(assert(decisions("held up").count() == 1))
      val row = only("held up")
      assert(value[String](row, "query_status") == "running")
      assert(value[Boolean](row, "with_filter"))
      val unknown = Seq("query_millis", "filter_status", "filter_kind", "filter_rows_in", "filter_rows_out", "filter_bytes", "filters")
      assert(unknown.filterNot(column => row.isNullAt(row.fieldIndex(column))).isEmpty)
      Held.countDown()
      assert(running.get(120, TimeUnit.SECONDS) > 0)
    } finally {
      Held.countDown()
      val _ = pool.shutdownNow()
    }
    drain()
    assert(value[String](only("held up"), "query_status") == "succeeded")
    assert(value[Long](only("held up"), "filter_rows_in") == 3000)
  }

  test("queries that read the table are neither decided nor recorded") {
    named("looked at")(spark.sql(Query).collect())
    val before = count()
    val mark = events.mark()
    val joined = spark.sql(
      """SELECT a.choice, count(*) AS joins, max(b.filter_rows_in) AS rows_in
        |FROM aqe_decisions() a JOIN aqe_decisions() b ON a.execution_id = b.execution_id AND a.join_id = b.join_id
        |WHERE a.description = 'looked at' GROUP BY a.choice ORDER BY joins DESC""".stripMargin
    ).collect()
    assert(joined.map(_.getLong(1)).toSeq == Seq(1L))
    assert(joined.map(_.getLong(2)).toSeq == Seq(3000L))
    // Joins of other tables in such a query are left alone too: the table may be anywhere in the query.
    val nested = Seq(
      "SELECT * FROM fact JOIN dim ON k = dk WHERE v IN (SELECT query_joins FROM aqe_decisions())",
      "SELECT * FROM fact JOIN dim ON k = dk WHERE v > (SELECT max(query_joins) FROM aqe_decisions())",
      "CREATE OR REPLACE TEMP VIEW looked AS SELECT d.* FROM aqe_decisions() d JOIN dim ON dk = query_joins",
      "SELECT * FROM looked JOIN fact ON k = query_joins",
      s"INSERT OVERWRITE DIRECTORY '${folder.resolve("written")}' USING parquet SELECT a.* FROM aqe_decisions() a JOIN dim ON dk = a.query_joins",
      s"CREATE TABLE written USING parquet LOCATION '${folder.resolve("created")}' AS SELECT a.* FROM aqe_decisions() a JOIN dim ON dk = a.query_joins"
    )
    nested.foreach(query => withClue(query)(spark.sql(query).collect()))
    val frame = spark.sql("SELECT a.* FROM aqe_decisions() a JOIN dim ON dk = a.query_joins")
    frame.queryExecution.executedPlan.toString()
    frame.collect()
    drain()
    assert(recorded(mark).isEmpty)
    assert(count() == before)
  }

  test("a frame over the table shows the present rows on each execution") {
    spark.sql("SELECT * FROM aqe_decisions() WHERE description = 'later'").createOrReplaceTempView("lately")
    assert(spark.table("lately").count() == 0)
    named("later")(spark.sql(Query).collect())
    assert(spark.table("lately").count() == 1)
  }

  test("every session shows the decisions of all sessions with their owners") {
    val other = spark.newSession()
    named("mine")(spark.sql(Query).collect())
    named("theirs")(other.sql(Query).collect())
    val seen = Seq(spark, other).map(session =>
      session.sql("SELECT description, session_id FROM aqe_decisions() WHERE description IN ('mine', 'theirs')").collect().toSet
    )
    assert(seen.head == seen.last)
    assert(seen.head.map(_.getString(0)) == Set("mine", "theirs"))
    assert(seen.head.map(_.getString(1)).size == 2)
    assert(value[String](only("mine"), "user_name") == spark.sql("SELECT current_user()").head().getString(0))
  }

  test("a session in mode off adds no rows and sees the existing rows") {
    named("switched on")(spark.sql(Query).collect())
    withConf(AqeConf.ModeKey.key -> "off") {
      val before = count()
      named("switched off")(spark.sql(Query).collect())
      assert(decisions("switched on").count() == 1)
      assert(decisions("switched off").count() == 0)
      assert(count() == before)
    }
  }

  test("in mode observe, a row has a decision and no filter outcome") {
    withConf(AqeConf.ModeKey.key -> "observe")(named("observed")(spark.sql(Query).collect()))
    val row = only("observed")
    assert(value[String](row, "mode") == "observe")
    assert(Seq("filter_kind", "filter_rows_in", "filter_wait_millis").filterNot(column => row.isNullAt(row.fieldIndex(column))).isEmpty)
  }

  test("a failed query has the status failed") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      named("fails")(intercept[Exception](spark.sql("SELECT *, 1 / (v - v) FROM fact JOIN dim ON k = dk").collect()))
    }
    assert(value[String](only("fails"), "query_status") == "failed")
  }

  test("a row has the redacted description, the job group and the job tags") {
    spark.sparkContext.setJobGroup("group 7", "the password is secret-123")
    spark.sparkContext.addJobTag("nightly")
    try spark.sql(Query).collect()
    finally {
      spark.sparkContext.clearJobGroup()
      spark.sparkContext.clearJobTags()
    }
    drain()
    val row = spark.sql("SELECT description, array_contains(job_tags, 'nightly') FROM aqe_decisions() WHERE job_group = 'group 7'").head()
    assert(row == Row("the password is *********(redacted)", true))
  }

  test("a query with many joins has its first decisions, and the others are counted") {
    val query =
      "SELECT count(*) FROM fact JOIN dim d1 ON k = d1.dk JOIN dim d2 ON v = d2.dk JOIN dim d3 ON k = d3.dv JOIN dim d4 ON v = d4.dv"
    named("many joins")(spark.sql(query).collect())
    val rows = decisions("many joins").collect()
    assert(rows.map(value[Long](_, "query_joins")).toSeq == Seq(4L, 4L))
  }

  test("concurrent queries have their own rows while others read the table") {
    val threads = Executors.newFixedThreadPool(6)
    try {
      val writers = (1 to 6).map { i =>
        val task: Callable[Boolean] = () => {
          spark.sparkContext.setJobDescription(s"thread $i")
          spark.sql(Query).collect().nonEmpty
        }
        task
      }
      val readers = (1 to 6).map { _ =>
        val task: Callable[Boolean] = () => {
          val rows = spark.sql("SELECT execution_id, join_id FROM aqe_decisions()").collect()
          rows.distinct.length == rows.length
        }
        task
      }
      assert(threads.invokeAll((writers ++ readers).asJava).asScala.forall(_.get(300, TimeUnit.SECONDS)))
    } finally {
      val _ = threads.shutdownNow()
    }
    drain()
    val seen = spark.sql("SELECT description, query_status FROM aqe_decisions() WHERE description LIKE 'thread %'").collect().toSet
    assert(seen == (1 to 6).map(i => Row(s"thread $i", "succeeded")).toSet)
  }

  test("the application's conf limits the kept queries; no session can change it") {
    val last = (1 to 14).map { i =>
      named(s"one of many $i")(spark.sql(Query).collect())
      s"one of many $i"
    }.takeRight(12)
    val kept = spark.sql("SELECT DISTINCT description FROM aqe_decisions()").collect().map(_.getString(0)).toSet
    assert(kept == last.toSet)
    withConf(AqeConf.DecisionsKeptQueries.key -> "1")(named("another bound")(spark.sql(Query).collect()))
    assert(spark.sql("SELECT DISTINCT execution_id FROM aqe_decisions()").count() == 12)
  }

  test("DESCRIBE QUERY shows the documentation of the columns") {
    val described = spark.sql("DESCRIBE QUERY SELECT * FROM aqe_decisions()").collect()
    assert(described.map(row => (row.getString(0), row.getString(2))).toSeq == DecisionColumns.All.map(c => (c.name, c.doc)))
    assert(described.map(_.getString(0)).distinct.length == described.length)
  }

  test("aqe_decisions accepts no arguments") {
    val error = intercept[AnalysisException](spark.sql("SELECT * FROM aqe_decisions(1)"))
    assert(error.getMessage.contains("`aqe_decisions` requires 0 parameters but the actual number is 1"))
  }
}

object DecisionsTableSuite {
  private val Held = new CountDownLatch(1)
}
