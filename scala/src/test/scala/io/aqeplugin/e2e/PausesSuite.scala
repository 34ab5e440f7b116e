package io.aqeplugin.e2e

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{RDDScanExec, SerializeFromObjectExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.functions.col
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.exec.SelfDisable

/** A filter pauses only above rows that a task meets in the same order when it runs again. */
class PausesSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS key, id AS n FROM range(4000)", files = 8)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id % 10 AS int) AS g FROM range(40)")
  }

  private def objects(rows: DataFrame): DataFrame = {
    val session = spark
    import session.implicits._
    rows.as[(Int, Long)].map { case (key, n) => (key, n) }.toDF("key", "n")
  }

  /** Whether the only filter of a join with these rows pauses, and what it is above of. */
  private def pauses(rows: DataFrame): (Boolean, SparkPlan) = {
    rows.createOrReplaceTempView("probe")
    val result = sameRows(spark.sql("SELECT * FROM (SELECT dk FROM dim WHERE g = 5) d LEFT JOIN probe p ON dk = p.key"))
    filters(result.plan) match {
      case Seq(filter) => (filter.pauses != Seq(SelfDisable.Never), filter.child)
      case found       => fail(s"${found.size} filters in\n${result.plan}")
    }
  }

  private def isAbove(plan: SparkPlan)(node: PartialFunction[SparkPlan, Unit]): Boolean = plan.exists(node.isDefinedAt)

  test("a filter above files pauses") {
    assert(pauses(spark.table("fact"))._1)
  }

  test("a filter above files of a source of the second version pauses") {
    withConf("spark.sql.sources.useV1SourceList" -> "") {
      val (isPausing, below) = pauses(spark.read.parquet(folder.resolve("parquet-fact").toString))
      assert(isPausing && isAbove(below) { case _: BatchScanExec => () }, below)
    }
  }

  test("a filter above objects made of shuffled rows never pauses") {
    val (isPausing, below) = pauses(objects(spark.table("fact").repartition(3, col("key"))))
    assert(!isPausing && isAbove(below) { case _: SerializeFromObjectExec => () }, below)
  }

  test("a filter above the rows of an RDD never pauses") {
    val fact = spark.table("fact")
    val (isPausing, below) = pauses(spark.createDataFrame(fact.rdd.repartition(3), fact.schema))
    assert(!isPausing && isAbove(below) { case _: RDDScanExec => () }, below)
  }

  test("no filter directly above an RDD computes a key that may have no value: which rows pass could depend on their order") {
    val texts = spark.sql("SELECT CAST(key AS string) AS t, n FROM fact")
    val computed = spark.createDataFrame(texts.rdd, texts.schema).selectExpr("CAST(t AS int) AS key", "n")
    computed.createOrReplaceTempView("probe")
    val query = "SELECT * FROM (SELECT dk FROM dim WHERE g = 5) d LEFT JOIN probe p ON dk = p.key"
    withConf("spark.sql.ansi.enabled" -> "true")(assert(filtered(sameRows(spark.sql(query))) == Seq("(shuffle)(key)")))
  }
}
