package io.aqeplugin.regression

import org.apache.spark.scheduler.SparkListenerJobStart
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.{PluginSession, Ran}

/** AQE loads a cached table once for each place of the plan that reads it. A build side below filters that waited for it stood in as many places as
  * there were scans, and was loaded as often.
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
}
