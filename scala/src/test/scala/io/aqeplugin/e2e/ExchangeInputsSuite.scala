package io.aqeplugin.e2e

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.scheduler.{SparkListener, SparkListenerStageCompleted}
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.execution.UnionExec
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.exec.SelfDisable

/** Filters in front of an exchange, for keys that reach no scan that could be filtered. */
class ExchangeInputsSuite extends AnyFunSuite with PluginSession {
  import ExchangeInputsSuite.Turns

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  /** Everything that a shuffle costs counts, and a wait never pays. */
  private val withoutWaits = Seq(
    "spark.aqePlugin.wait.savingShare" -> "0",
    "spark.aqePlugin.filter.minProbeRows" -> "0",
    "spark.aqePlugin.cost.jobLaunchNanos" -> "0",
    "spark.aqePlugin.cost.shuffleNanosPerByte" -> "1000"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.udf.register("plus_one", (n: Int) => n + 1)
    spark.udf.register("slowly", (n: Int) => { Thread.sleep(5); n })
    spark.udf.register("after_dim", (n: Int) => { Turns.awaitDim(); n })
    spark.udf.register("once_begun", (n: Int) => { Turns.awaitAggregate(); n })
    spark.udf.register("begin", (s: String) => { Turns.beginAggregate(); s })
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v, id AS n FROM range(4000)", files = 8)
    table("single", "SELECT k, v FROM fact", files = 1)
    table("other", "SELECT CAST(id % 40 AS int) AS ok, CAST(id % 11 AS int) AS ov FROM range(100)", files = 4)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id % 10 AS int) AS g FROM range(40)")
  }

  /** A left join, because only its right side may be filtered, however small that side is. */
  private def joined(probe: String, key: String, dk: String = "dk"): String =
    s"SELECT * FROM (SELECT $dk AS dk FROM dim WHERE g = 5) d LEFT JOIN ($probe) p ON dk = p.$key"

  private def isFiltered(what: String, probe: String, key: String)(places: String*): Unit = test(what) {
    val result = sameRows(spark.sql(joined(probe, key)))
    assert(filtered(result) == places, result.plan)
    assert(outcomes(result).forall(o => o.path("rowsIn").asLong > o.path("rowsOut").asLong), result.plan)
    assert(result.decided.forall(_.decision.path("facts").path("probe").path("beforeExchange").asBoolean))
  }

  isFiltered("keys of two columns are checked before the shuffle", "SELECT n, k + v AS key FROM fact", "key")("(shuffle)(key)")
  isFiltered("keys of a user's function are checked before the shuffle", "SELECT n, plus_one(k) AS key FROM fact", "key")("(shuffle)(key)")
  isFiltered("the sums of an aggregate are checked before the shuffle", "SELECT v, count(*) - 297 AS key FROM fact GROUP BY v", "key")(
    "(shuffle)(key)"
  )
  isFiltered("ranks are checked before the shuffle", "SELECT n, rank() OVER (PARTITION BY v ORDER BY n) AS key FROM fact", "key")(
    "(shuffle)(key)"
  )

  test("shuffles below a union below objects keep their own numbers of partitions") {
    val sums = "SELECT v AS g, count(*) AS m FROM fact GROUP BY v"
    val both = spark.sql(s"$sums UNION ALL SELECT /*+ REPARTITION(7, ov) */ ov, count(*) FROM other GROUP BY ov")
    val session = spark
    import session.implicits._
    both.as[(Int, Long)].map { case (key, n) => (key, n) }.toDF("key", "n").createOrReplaceTempView("sums")
    val result = sameRows(spark.sql(joined("SELECT * FROM sums", "key")))
    val unions = collect(result.plan) { case union: UnionExec => union }
    assert(unions.nonEmpty && unions.exists(_.exists(_.isInstanceOf[AQEShuffleReadExec])), result.plan)
  }

  test("a filter checks the rows before they are broadcast for another join") {
    val probe =
      "SELECT /*+ BROADCAST(a) */ n, mk FROM fact JOIN (SELECT v AS av, max(k) - 80 + v % 3 AS mk FROM fact GROUP BY v) a ON v = av"
    val result = sameRows(spark.sql(joined(probe, "mk")))
    assert(outcomes(result).exists(o => o.path("table").asText == "(broadcast)" && o.path("rowsOut").asLong == 4L), result.plan)
  }

  test("a probe side that did not wait gets its filter in front of the next shuffle") {
    // The second stage below the inner join is slow and has its tasks after those of the first stages, of which the build side is one.
    def query(most: String) =
      joined(s"SELECT k, n, ok FROM fact JOIN (SELECT ok, max(ov) AS mv FROM other GROUP BY ok HAVING $most >= 0) ON v = mv", "k")
    val expected = withoutPlugin(spark.sql(query("max(ov)")))
    // The slow tasks have all slots for longer than a filter waits for one by default.
    val patient = withoutWaits :+ ("spark.aqePlugin.filter.slotTimeout" -> "60000")
    val result = withConf(patient: _*)(ran(spark.sql(query("slowly(max(ov))"))))
    assert(result.rows == expected)
    assert(filtered(result).contains("(shuffle)(k)"), result.plan)
    val join = result.decided.map(_.decision).find(_.path("facts").path("joinId").asText.contains("dk")).get
    assert(
      join.path("facts").path("probe").path("beforeExchange").asBoolean && join.path("filterReason").path("code").asText == "FILTER_PAYS"
    )
  }

  test("a filter that a shared scan may not have comes in front of the next exchange that is not shared") {
    val sums = "WITH c AS (SELECT k, v, count(*) AS m FROM fact GROUP BY k, v) SELECT a.k, a.m, b.k AS bk FROM c a JOIN c b ON a.v = b.v"
    val query = joined(sums, "k")
    val expected = withoutPlugin(spark.sql(query))
    val result = withConf(withoutWaits: _*)(ran(spark.sql(query)))
    assert(result.rows == expected)
    assert(filtered(result) == Seq("(shuffle)(k)"), result.plan)
  }

  test("a join whose filter may come later is not broadcast beyond the memory limit meanwhile") {
    // The probe side ends after the build side. Its one task that waits leaves a slot to the others.
    def query(v: String): String = {
      def counts(rows: String): String = s"SELECT k, v, count(*) AS m FROM ($rows) GROUP BY k, v"
      val probe =
        s"SELECT a.k, a.m, b.k AS bk FROM (${counts(s"SELECT k, $v AS v FROM single")}) a JOIN (${counts("SELECT * FROM fact")}) b ON a.v = b.v"
      s"SELECT * FROM ($probe) p JOIN (SELECT dk FROM dim WHERE g = 5) d ON dk = p.k"
    }
    val expected = withoutPlugin(spark.sql(query("v")))
    val small = Seq(
      "spark.sql.autoBroadcastJoinThreshold" -> "1",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "1m",
      "spark.aqePlugin.broadcast.maxMemoryBytes" -> "1",
      "spark.aqePlugin.shuffledHash.maxShare" -> "0"
    )
    val result = withConf(withoutWaits ++ small: _*)(inTurns(ran(spark.sql(query("after_dim(v)")))))
    assert(result.rows == expected)
    val join = result.decided.map(_.decision).find(_.path("facts").path("joinId").asText.contains("dk")).get
    assert(join.path("facts").path("sparkStrategy").asText == "broadcast" && join.path("choice").asText.endsWith("sort_merge"))
    assert(
      collect(result.plan) {
        case hashed: BroadcastHashJoinExec if hashed.buildSide == BuildRight && hashed.rightKeys.exists(_.sql.contains("dk")) => hashed
      } == Nil,
      result.plan
    )
  }

  test("each input of an inner join keeps its filter, although the other one has started with its own") {
    val slow = "SELECT * FROM other WHERE slowly(ok) >= 0"
    val inputs = "(SELECT v, max(k) - 80 + v % 3 AS ka FROM fact GROUP BY v) a JOIN " +
      s"(SELECT mod(om, 5) AS g, max(om) - 29 AS kb FROM (SELECT ov, max(ok) AS om FROM ($slow) GROUP BY ov) GROUP BY mod(om, 5)) b ON ka = kb"
    val result = sameRows(spark.sql(joined(s"SELECT * FROM $inputs", "ka")))
    val ofDim = outcomes(result).filter(_.path("joinId").asText.contains("dk"))
    assert(ofDim.map(_.path("scanColumns").elements().next().asText).toSet == Set("ka", "kb"), result.plan)
  }

  test("a scan with a filter gets no second one in front of a later shuffle") {
    val result = sameRows(spark.sql(joined("SELECT k, n, ok FROM fact JOIN other ON v = ov", "k")))
    assert(filtered(result) == Seq("parquet-fact(k)", "parquet-fact(v)"), result.plan)
  }

  test("a filter in front of an exchange never pauses: the order of its rows may change when a task runs again") {
    val result = sameRows(spark.sql(joined("SELECT n, k + v AS key FROM fact", "key")))
    assert(filters(result.plan).flatMap(_.pauses) == Seq(SelfDisable.Never))
  }

  test("shuffles below a union keep their own numbers of partitions, so no filter is above them") {
    val sums = "SELECT v AS g, count(*) - 297 AS key FROM fact GROUP BY v UNION ALL SELECT ov, count(*) FROM other GROUP BY ov"
    val result = sameRows(spark.sql(joined(sums, "key")))
    assert(filters(result.plan) == Nil, result.plan)
    val unions = collect(result.plan) { case union: UnionExec => union }
    assert(unions.nonEmpty && unions.forall(_.exists(_.isInstanceOf[AQEShuffleReadExec])), result.plan)
  }

  test("a broadcast join has no shuffle that a filter could spare") {
    val query = "SELECT /*+ BROADCAST(dim) */ * FROM dim JOIN (SELECT n, k + v AS key FROM fact) p ON dk = key"
    val result = sameRows(spark.sql(query))
    assert(filters(result.plan) == Nil, result.plan)
    assert(result.decided.map(_.decision.path("filterReason").path("code").asText) == Seq("NO_TARGET_SCAN"))
  }

  /** An aggregate with `DISTINCT`, which has two shuffles and sorts for the largest string, above shuffles that no filter may be above. */
  private def ofDistinct(key: String = "CAST(id % 90 AS int)", text: String = "s", tasks: Int = 2): String =
    s"SELECT k, max($text) AS m, count(DISTINCT v) AS c FROM (" +
      s"SELECT /*+ REPARTITION(3) */ $key AS k, CAST(id AS string) AS s, id % 13 AS v FROM range(0, 400, 1, $tasks) UNION ALL " +
      "SELECT /*+ REPARTITION(3) */ CAST(id % 40 AS int), CAST(id AS string), id % 11 FROM range(0, 100, 1, 2)) GROUP BY k"

  /** Runs a query whose build side's stage is the first one of a single task that ends: other tasks await it. */
  private def inTurns(query: => Ran): Ran = {
    Turns.restart()
    val ended = new SparkListener {
      override def onStageCompleted(stage: SparkListenerStageCompleted): Unit = if (stage.stageInfo.numTasks == 1) Turns.endDim()
    }
    spark.sparkContext.addSparkListener(ended)
    try query
    finally spark.sparkContext.removeSparkListener(ended)
  }

  test("no filter comes between the two shuffles of an aggregate with DISTINCT if its source ends before the lower one starts") {
    val expected = withoutPlugin(spark.sql(joined(ofDistinct(), "k")))
    // Two tasks that await the build side would take both slots.
    val result = inTurns(withPlugin(spark.sql(joined(ofDistinct(key = "after_dim(CAST(id % 90 AS int))", tasks = 1), "k"))))
    assert(result.rows == expected)
    assert(filtered(result) == Nil, result.plan)
  }

  test("a filter comes between the two shuffles of an aggregate with DISTINCT if its source ends while the lower one runs") {
    val expected = withoutPlugin(spark.sql(joined(ofDistinct(), "k")))
    val result = inTurns(withPlugin(spark.sql(joined(ofDistinct(text = "begin(s)"), "k", dk = "once_begun(dk)"))))
    assert(result.rows == expected)
    assert(filtered(result) == Seq("(shuffle)(k)"), result.plan)
  }
}

private object ExchangeInputsSuite {

  /** What tasks of different stages await of each other. */
  object Turns {
    @volatile private var dimEnded, aggregateBegun = new CountDownLatch(1)

    private val begun = new AtomicBoolean

    def restart(): Unit = {
      begun.set(false)
      dimEnded = new CountDownLatch(1)
      aggregateBegun = new CountDownLatch(1)
    }

    def endDim(): Unit = dimEnded.countDown()
    def awaitDim(): Unit = await(dimEnded)

    /** The first task alone waits: two would take both slots, and the build side none. */
    def beginAggregate(): Unit = if (begun.compareAndSet(false, true)) {
      aggregateBegun.countDown()
      await(dimEnded)
    }
    def awaitAggregate(): Unit = await(aggregateBegun)

    private def await(other: CountDownLatch): Unit =
      if (!other.await(60L, TimeUnit.SECONDS)) sys.error("another stage did not take its turn within a minute")
  }
}
