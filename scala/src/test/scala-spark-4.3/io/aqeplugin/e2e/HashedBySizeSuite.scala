package io.aqeplugin.e2e

import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

/** Since Spark 4.3, AQE hashes joins with a small finished side by a rule on the physical plan. */
class HashedBySizeSuite extends AnyFunSuite with PluginSession {

  private val Shuffled = Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "1m")
  private val Threshold = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"
  private val Query = "SELECT f.id, d.d FROM facts f JOIN dims d ON f.k = d.k WHERE d.d < 50"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id, CAST(id % 1000 AS int) AS k FROM range(20000)", files = 4)
    table("dims", "SELECT CAST(id AS int) AS k, id AS d FROM range(1000)")
  }

  for ((mostBytes, strategy) <- Seq("1m" -> "shuffled_hash", "100" -> "plain_sort_merge", "0" -> "plain_sort_merge"))
    test(s"with a limit of $mostBytes for hashed partitions, the plugin predicts what Spark does: $strategy") {
      withConf(Shuffled ++ Seq(Threshold -> mostBytes, "spark.aqePlugin.mode" -> "observe"): _*) {
        val ran = sameRows(spark.sql(Query))
        val (hashed, sorted) =
          (collect(ran.plan) { case j: ShuffledHashJoinExec => j }.size, collect(ran.plan) { case j: SortMergeJoinExec => j }.size)
        assert((hashed, sorted) == (if (strategy == "shuffled_hash") (1, 0) else (0, 1)), ran.plan)
        val facts = ran.decided.headOption.getOrElse(fail("no decision")).decision.path("facts")
        assert(facts.path("sparkStrategy").asText == strategy, facts)
      }
    }
}
