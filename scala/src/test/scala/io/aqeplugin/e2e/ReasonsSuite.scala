package io.aqeplugin.e2e

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.ReasonCode

/** Reasons against a filter, each from a real query that has it. */
class ReasonsSuite extends AnyFunSuite with PluginSession {
  private val Threshold = "spark.sql.autoBroadcastJoinThreshold"
  private val SortMerge = Threshold -> "-1"
  private val Broadcast = Threshold -> "10m"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val columns = "CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v, 'd' || (id % 20) AS s, CAST(id % 90 AS double) AS x"
    table("fact", s"SELECT $columns FROM range(300)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, 'D' || id AS name, CAST(id + 5 AS double) AS dx FROM range(4)")
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.table("fact").write.partitionBy("k").parquet(folder.resolve("days").toString)
      spark.read.parquet(folder.resolve("days").toString).createOrReplaceTempView("days")
      for ((source, name, key) <- Seq(("fact", "bucketed_fact", "k"), ("dim", "bucketed_dim", "dk")))
        spark.table(source).write.bucketBy(3, key).sortBy(key).saveAsTable(name)
    }
  }

  override protected def afterAll(): Unit = {
    Seq("bucketed_fact", "bucketed_dim").foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
    super.afterAll()
  }

  /** The reason codes of the filters of a query's joins. */
  private def told(ran: Ran): Seq[String] = ran.decided.map(_.decision.path("filterReason").path("code").asText)

  private def gives(code: ReasonCode, what: String, query: String, conf: (String, String)*): Unit =
    test(s"${code.name}: $what") {
      withConf(conf: _*) {
        val result = sameRows(spark.sql(query))
        assert(result.rows.nonEmpty)
        assert(told(result) == Seq(code.name), result.decided)
        assert(filters(result.plan).isEmpty)
      }
    }

  gives(
    ReasonCode.MemoryBudget,
    "no memory for a filter",
    "SELECT * FROM fact JOIN dim ON k = dk",
    SortMerge,
    "spark.aqePlugin.memory.maxShare" -> "0"
  )
  gives(
    ReasonCode.UnsupportedKeyType,
    "a key of structs",
    "SELECT * FROM fact JOIN dim ON named_struct('a', k, 'b', s) = named_struct('a', dk, 'b', 'd' || dk)",
    SortMerge
  )
  gives(ReasonCode.KeyNotPlain, "a key of two columns", "SELECT * FROM fact JOIN dim ON k + v = dk", SortMerge)
  gives(
    ReasonCode.NoBuildExchange,
    "tables bucketed by the key, which are not shuffled",
    "SELECT v, count(*) FROM bucketed_fact JOIN bucketed_dim ON k = dk GROUP BY v",
    SortMerge,
    "spark.sql.sources.bucketing.autoBucketedScan.enabled" -> "false"
  )
  gives(
    ReasonCode.NonDeterministic,
    "a build side with LIMIT and ties",
    "SELECT * FROM fact JOIN (SELECT dk FROM (SELECT * FROM dim ORDER BY length(name) LIMIT 4)) ON k = dk",
    SortMerge
  )
  gives(
    ReasonCode.ReuseOff,
    "exchanges are not reused",
    "SELECT * FROM fact JOIN dim ON k = dk",
    SortMerge,
    "spark.sql.exchange.reuse" -> "false"
  )
  gives(
    ReasonCode.AlreadyFilteredBySpark,
    "dynamic partition pruning by the same key",
    "SELECT * FROM days JOIN dim ON k = dk WHERE name > 'D1'",
    Broadcast
  )
  gives(ReasonCode.JoinType, "both sides keep all rows", "SELECT * FROM fact FULL JOIN dim ON k = dk", SortMerge)
  gives(
    ReasonCode.NoTargetScan,
    "the key is computed by an aggregate whose rows are not shuffled",
    "SELECT /*+ BROADCAST(dim) */ * FROM dim JOIN (SELECT v, min(k) AS m FROM fact GROUP BY v) ON m = dk",
    Broadcast
  )

  test("CACHE_NOT_LOADED: only the first query on a cached table gets no filter from it") {
    spark.sql("CACHE LAZY TABLE kept AS SELECT * FROM dim")
    try
      withConf(SortMerge) {
        def query: DataFrame = spark.sql("SELECT * FROM fact JOIN kept ON k = dk")
        val first = withPlugin(query)
        assert(told(first) == Seq("CACHE_NOT_LOADED"), first.decided)
        assert(filters(first.plan).isEmpty)
        val second = withPlugin(query)
        assert(second.rows == first.rows && second.rows.size == 16)
        assert(filtered(second) == Seq("parquet-fact(k)"))
      }
    finally {
      val _ = spark.sql("UNCACHE TABLE kept")
    }
  }

  test("OBSERVE_MODE: a filter that was only decided is reported as not applied") {
    withConf(Broadcast, "spark.aqePlugin.mode" -> "observe") {
      val result = withPlugin(spark.sql("SELECT * FROM fact JOIN dim ON k = dk"))
      assert(filters(result.plan).isEmpty)
      assert(result.decided.map(_.decision.path("buildFilter").asBoolean) == Seq(true), result.decided)
      val placed = result.decided.flatMap(_.filters.elements().asScala)
      assert(placed.map(f => (f.path("table").asText, f.path("applied").asBoolean)) == Seq("parquet-fact" -> false))
      assert(placed.map(_.path("reason").path("code").asText) == Seq("OBSERVE_MODE"))
    }
  }

  test("a broadcast join whose scan has started beside inputs that have not is decided without a filter") {
    val _ = spark.udf.register("slowly", (id: Long) => { Thread.sleep(100); id >= 0 })
    val days = "SELECT /*+ BROADCAST(d) */ v FROM fact JOIN (SELECT CAST(id AS int) AS id FROM range(13) WHERE slowly(id)) d ON v = d.id"
    val query = s"SELECT /*+ BROADCAST(dim) */ f.k, f.s FROM fact f JOIN dim ON f.k = dk WHERE f.v IN ($days)"
    withConf(SortMerge, "spark.aqePlugin.wait.savingShare" -> "0", "spark.aqePlugin.cost.jobLaunchNanos" -> "0") {
      val result = ran(spark.sql(query))
      val ofDim = result.decided.filter(_.decision.path("facts").path("keys").toString.contains("dk"))
      assert(ofDim.map(_.decision.path("buildFilter").asBoolean) == Seq(false), result.decided)
      assert(filters(result.plan).isEmpty)
    }
  }
}
