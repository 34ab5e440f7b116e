package io.aqeplugin.regression

import org.apache.spark.sql.catalyst.plans.LeftAnti
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** A row of the left side of an anti join stays if it has no partner. With a filter on the right side alone, rows stayed that a join further up
  * dropped, but only behind a shuffle of all of them.
  */
class MoreRowsSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("lists", "SELECT array(CAST(id % 90 AS int)) AS ks, id AS v FROM range(300)")
    table("plain", "SELECT CAST(id % 90 AS int) AS k, id AS v FROM range(300)")
    table("others", "SELECT CAST(id AS int) AS ok FROM range(7, 90)")
    table("dim", "SELECT CAST(id + 5 AS int) AS dk FROM range(4)")
  }

  private def rowsOfAntiJoins(plan: SparkPlan): Seq[Long] = collectWithSubqueries(plan) {
    case join: BaseJoinExec if join.joinType == LeftAnti => join.metrics("numOutputRows").value
  }

  private def compared(left: String): (Seq[Long], Seq[String]) = {
    val query =
      s"SELECT count(*), sum(v) FROM dim LEFT JOIN (SELECT /*+ BROADCAST(o) */ l.k, v FROM $left l LEFT ANTI JOIN others o ON l.k = o.ok) p ON dk = p.k"
    val alone = withConf("spark.aqePlugin.mode" -> "off") {
      val frame = spark.sql(query)
      val _ = frame.collect()
      rowsOfAntiJoins(frame.queryExecution.executedPlan)
    }
    val ran = sameRows(spark.sql(query))
    val rows = rowsOfAntiJoins(ran.plan)
    assert(
      rows.size == alone.size && rows.zip(alone).forall { case (one, other) => one <= other },
      s"$rows in place of $alone\n${ran.plan}"
    )
    (rows, filtered(ran))
  }

  test("an anti join whose left side the keys do not reach gets no filter on its right side") {
    val (_, filters) = compared("(SELECT explode(ks) AS k, v FROM lists)")
    assert(!filters.exists(_.contains("others")), filters)
  }

  for (
    (left, what) <- Seq(
      "(SELECT k, v FROM plain UNION ALL SELECT explode(ks) AS k, v FROM lists)" -> "an input of a union",
      "(SELECT /*+ BROADCAST(o) */ o.ok AS k, v FROM (SELECT explode(ks) AS k, v FROM lists) l LEFT JOIN others o ON l.k = o.ok)" -> "the null-supplying side of a left join",
      "(SELECT /*+ BROADCAST(p) */ l.k, v FROM (SELECT explode(ks) AS k, v FROM lists) l LEFT ANTI JOIN others p ON l.k = p.ok)" -> "the right side of another anti join"
    )
  )
    test(s"a filter on $what alone lets the right side of an anti join without one") {
      val (_, filters) = compared(left)
      assert(filters.count(_.contains("others")) <= (if (left.contains("LEFT JOIN")) 1 else 0), filters)
    }

  test("an anti join whose left side is filtered has the filter on its right side too") {
    val (rows, filters) = compared("plain")
    assert(filters == Seq("parquet-others(ok)", "parquet-plain(k)") && rows.forall(_ < 40), (rows, filters))
  }
}
