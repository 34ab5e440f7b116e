package io.aqeplugin.regression

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.joins.{BaseJoinExec, BroadcastHashJoinExec}
import org.apache.spark.sql.functions.expr
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** Two cached frames that were made of one join are planned in one query, and their joins have one name. The decision of the one, made of a
  * small build side, was carried out on the other, whose build side is large.
  */
class EqualNamesSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.autoBroadcastJoinThreshold" -> "1", "spark.aqePlugin.broadcast.maxRows" -> "1000")

  private def joins(plan: SparkPlan): Seq[BaseJoinExec] = collectWithSubqueries(plan) { case join: BaseJoinExec => join }

  test("a join takes no decision that was made of another build side") {
    table("fact", "SELECT id % 100000 AS k, id AS v FROM range(400000)", files = 2)
    table("dim", "SELECT id AS dk, IF(id < 10, 1, 2) AS c FROM range(100000)")
    val joined = spark.table("fact").join(spark.table("dim"), expr("k = dk"))
    val frames = Seq("few" -> joined.where("c = 1"), "many" -> joined.where("c = 2"))
    try {
      val union = frames.map(_._2.cache()).reduce(_ union _)
      val counts = union.groupBy("c").count().collect().map(row => row.getInt(0) -> row.getLong(1)).toMap
      assert(counts == Map(1 -> 40L, 2 -> 399960L))
      val loaded = frames.map { case (name, frame) =>
        val scans = collectWithSubqueries(frame.queryExecution.executedPlan) { case scan: InMemoryTableScanExec => scan }
        name -> scans.flatMap(scan => joins(scan.relation.cacheBuilder.cachedPlan))
      }.toMap
      assert(loaded("few").exists(_.isInstanceOf[BroadcastHashJoinExec]), loaded)
      assert(loaded("many").nonEmpty && !loaded("many").exists(_.isInstanceOf[BroadcastHashJoinExec]), loaded)
    } finally frames.foreach(_._2.unpersist())
  }
}
