package io.aqeplugin.regression

import org.apache.spark.sql.execution.FileSourceScanExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.{PluginSession, Ran}

/** Dynamic partition pruning takes its values from the join's broadcast if its own plan for them is equal. AQE makes both plans, each with
  * our rules, at different times.
  */
class PruningReuseSuite extends AnyFunSuite with PluginSession {
  private def query(hint: String): String =
    s"""SELECT /*+ $hint(d) */ f.v, d.name
       |FROM parted f JOIN (SELECT d1.part AS pd, d2.name FROM d1 JOIN d2 ON d1.k = d2.k WHERE d2.name = 'n3') d ON f.part = d.pd""".stripMargin

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val path = folder.resolve("parted").toString
    spark.sql("SELECT id AS v, id % 20 AS part FROM range(2000)").repartition(1).write.partitionBy("part").parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("parted")
    table("d1", "SELECT id % 20 AS part, id % 100 AS k FROM range(1000)", files = 2)
    table("d2", "SELECT id AS k, 'n' || (id % 100) AS name FROM range(300)")
    table("d3", "SELECT id AS k, id % 7 AS r FROM range(100)")
  }

  private def filesRead(ran: Ran): Seq[Long] = collectWithSubqueries(ran.plan) {
    case scan: FileSourceScanExec if scan.relation.location.rootPaths.exists(_.getName == "parted") => scan.metrics("numFiles").value
  }

  for ((what, threshold) <- Seq("stays shuffled" -> "-1", "may be broadcast" -> "1"))
    test(s"a partitioned table is pruned by a broadcast above a join that $what") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> threshold) {
        val off = withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query("BROADCAST"))))
        val on = withPlugin(spark.sql(query("BROADCAST")))
        assert(on.rows == off.rows)
        assert(filesRead(off) == Seq(1L), off.plan)
        assert(filesRead(on) == filesRead(off), on.plan)
        assert(reasons(on) == Seq("REUSED_EXCHANGE"))
      }
    }

  test("joins that pruning could use get filters where no side is broadcast, and so does the scan that it leaves whole") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val on = sameRows(spark.sql(query("MERGE")))
      assert(outcomes(on).map(_.path("table").asText).toSet == Set("parquet-d1", "parted"), on.plan)
      assert(filesRead(on) == Seq(1L), on.plan)
    }
  }

  test("pruning keeps no filter out of a broadcast that it cannot use") {
    def joined = spark.sql(
      """SELECT /*+ BROADCAST(d, b), MERGE(x) */ count(*), sum(f.v)
        |FROM parted f JOIN d2 d ON f.part = d.k JOIN d1 b ON f.v = b.k JOIN d3 x ON b.k = x.k WHERE d.name = 'n3' AND x.r = 2""".stripMargin
    )
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val off = withConf("spark.aqePlugin.mode" -> "off")(ran(joined))
      val on = withPlugin(joined)
      assert(on.rows == off.rows)
      assert(filesRead(off) == Seq(1L) && filesRead(on) == filesRead(off), on.plan)
      val tables = outcomes(on).map(_.path("table").asText)
      assert(tables.contains("parquet-d1") && !tables.contains("parquet-d2"), on.plan)
    }
  }

  /** Why the join of `d1` and `d2` has no filter. */
  private def reasons(ran: Ran): Seq[String] = ran.decided.map(_.decision).collect {
    case decision if decision.path("facts").path("joinId").asText.contains("inner:k=k") => decision.path("filterReason").path("code").asText
  }
}
