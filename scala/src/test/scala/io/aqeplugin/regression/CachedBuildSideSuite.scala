package io.aqeplugin.regression

import org.apache.spark.scheduler.SparkListenerJobStart
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
import org.apache.spark.sql.functions.col
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.{PluginSession, Ran}

/** AQE loads a cached table once for each place of the plan that reads it, and a filter puts its build side into one more place for each
  * scan.
  */
class CachedBuildSideSuite extends AnyFunSuite with PluginSession {
  private val Scans = 4
  private val Query =
    (1 to Scans).map(i => s"SELECT k, v FROM fact$i").mkString("SELECT * FROM (", " UNION ALL ", ") JOIN kept ON k = dk")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    (1 to Scans).foreach(i => table(s"fact$i", s"SELECT CAST(id % 90 AS int) AS k, id + $i AS v FROM range(300)"))
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, 'd' || id AS name FROM range(4)")
  }

  private def withLazyCache[A](body: => A): A = {
    val _ = spark.sql("CACHE LAZY TABLE kept AS SELECT * FROM dim WHERE dk > 5")
    try body
    finally { val _ = spark.sql("DROP VIEW kept") }
  }

  /** Jobs that do nothing but load a cached table. */
  private def loads(ran: Ran): Int = ran.events.count {
    case start: SparkListenerJobStart =>
      start.stageInfos.maxBy(_.stageId).rddInfos.maxBy(_.id).name.startsWith("In-memory table")
    case _ => false
  }

  for ((what, threshold) <- Seq("shuffled" -> "-1", "broadcast" -> "10m"))
    test(s"a cached build side that is $what is loaded once") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> threshold) {
        val expected = withLazyCache(withoutPlugin(spark.sql(Query)))
        withLazyCache {
          val first = withPlugin(spark.sql(Query))
          assert(first.rows == expected)
          assert(loads(first) == 1)
          val second = withPlugin(spark.sql(Query))
          assert(second.rows == expected)
          assert(filtered(second) == (1 to Scans).map(i => s"parquet-fact$i(k)"), "a table that is loaded gives filters")
        }
      }
    }

  test("a cached build side that is broadcast gives filters while it is loaded") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m") {
      val expected = withLazyCache(withoutPlugin(spark.sql(Query)))
      withLazyCache {
        val loading = withPlugin(spark.sql(Query))
        assert(loading.rows == expected)
        assert(loads(loading) == 1)
        assert(filtered(loading) == (1 to Scans).map(i => s"parquet-fact$i(k)"))
        assert(loading.decided.map(_.decision.path("filterReason").path("code").asText).forall(_ != "CACHE_NOT_LOADED"), loading.decided)
      }
    }
  }

  test("a cache partitioned by the join key gives a filter and leaves the join to Spark") {
    // The probe side is the output of another join, so its shuffle has not started when the cache is ready.
    val query = "SELECT * FROM (SELECT k, v FROM fact1 JOIN small ON v = dv) JOIN kept ON k = dk"
    table("small", "SELECT CAST(id + 7 AS int) AS dv FROM range(20)")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "1") {
      val kept = spark.table("dim").repartition(4, col("dk")).cache()
      try {
        kept.createOrReplaceTempView("kept")
        assert(kept.count() == 4)
        val expected = withoutPlugin(spark.sql(query))
        val result = withPlugin(spark.sql(query))
        assert(result.rows == expected)
        val decisions = result.decided.map(_.decision).filter(_.path("facts").path("joinId").asText.contains("dk"))
        assert(decisions.map(d => d.path("choice").asText -> d.path("buildFilter").asBoolean) == Seq("leave_to_spark" -> true))
        assert(collect(result.plan) { case join: SortMergeJoinExec if keysOf(join).contains("dk") => join }.size == 1, result.plan)
        assert(filtered(result).contains("parquet-fact1(k)"))
        val ofCache = outcomes(result).filter(_.path("joinId").asText.contains("dk"))
        assert(ofCache.nonEmpty && ofCache.forall(o => o.path("rowsOut").asLong < o.path("rowsIn").asLong), ofCache)
      } finally { val _ = kept.unpersist() }
    }
  }

  private def keysOf(join: SortMergeJoinExec): Seq[String] = (join.leftKeys ++ join.rightKeys).flatMap(_.references.map(_.name))
}
