package io.aqeplugin.place

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** How many uses Spark serves by one run of a shuffle. */
class ReuseGuardSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.mode" -> "off")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("sold", "SELECT id % 9 AS item, id % 20 AS day, id AS x FROM range(100)")
    table("days", "SELECT id AS d, 2000 + id % 4 AS year FROM range(20)")
  }

  /** The number of other uses of each shuffle directly above a scan of the sales, in the order of the plan. */
  private def otherUses(query: String): Seq[Int] = {
    val plan = spark.sql(query).queryExecution.executedPlan.collectFirst { case whole: AdaptiveSparkPlanExec => whole.initialPlan }.get
    val guard = new ReuseGuard(plan)
    plan.collect {
      case shuffle: ShuffleExchangeExec
          if shuffle.collectLeaves().exists(isOfSales) && !shuffle.child.exists(_.isInstanceOf[ShuffleExchangeExec]) =>
        guard.otherUses(shuffle).size
    }
  }

  private def isOfSales(leaf: SparkPlan): Boolean = leaf match {
    case scan: FileSourceScanExec => scan.relation.location.rootPaths.exists(_.getName == "parquet-sold")
    case _                        => false
  }

  private def inYear(year: Int): String = s"SELECT item, x FROM sold JOIN days ON day = d WHERE year = $year"

  private val Summed = "WITH summed AS (SELECT item, max(x) AS most FROM sold JOIN days ON day = d WHERE year = 2001 GROUP BY item)"

  test("a shuffle that nothing else uses has no other use") {
    assert(otherUses(inYear(2001)) == Seq(0))
  }

  test("each of three uses has two others") {
    assert(otherUses(Seq(2001, 2002, 2003).map(inYear).mkString(" UNION ALL ")) == Seq(2, 2, 2))
  }

  test("copies in a larger part that is shared as a whole are one use") {
    assert(otherUses(s"$Summed SELECT a.item, a.most + b.most FROM summed a JOIN summed b ON a.item = b.item + 1") == Seq(0, 0))
  }

  test("a use beside a larger part that is shared counts once, and so does the part") {
    assert(otherUses(
      s"$Summed SELECT a.item, a.most + b.most FROM summed a JOIN summed b ON a.item = b.item + 1 UNION ALL ${inYear(2002)} AND item IS NOT NULL"
    ) == Seq(1, 1, 1))
  }

  test("two uses in each copy of a larger part are two") {
    val pairs = "WITH pairs AS (SELECT a.item + b.item AS x, count(*) AS n FROM sold a JOIN sold b ON a.x = b.x GROUP BY a.item + b.item)"
    val counts = otherUses(s"$pairs SELECT p.x, p.n, q.n FROM pairs p JOIN pairs q ON p.x = q.x + 1")
    assert(counts.size == 4 && counts.forall(_ == 1), counts)
  }
}
