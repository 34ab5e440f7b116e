package io.aqeplugin.place

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, Row, SQLContext}
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, AdaptiveSparkPlanExec}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.TableSampleInfo
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.python.{BatchEvalPythonExec, EvalPythonExec}
import org.apache.spark.sql.functions.{count, lit}
import org.apache.spark.sql.sources.{BaseRelation, TableScan}
import org.apache.spark.sql.types.{IntegerType, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.exec.RuntimeFilterExec

/** A build side whose second run may give different rows, because its input comes in a different order, gives no filter: after the loss of
  * an executor, probe rows of the second run's keys would be missing.
  */
class RepeatableSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, id AS v FROM range(300)", files = 2)
    table("dim", "SELECT CAST(id % 40 AS int) AS k, id % 3 AS a, id % 2 AS score FROM range(100)", files = 2)
  }

  private val OfNumbers = new StructType().add("k", IntegerType)

  /** A query's plan before Spark puts exchanges into it. */
  private def planOf(query: String): SparkPlan = spark.sql(query).queryExecution.sparkPlan

  private def shuffled(plan: SparkPlan): ShuffleExchangeExec = ShuffleExchangeExec(SinglePartition, plan)

  private def filteredBy(build: String): Seq[String] =
    filtered(
      withPlugin(spark.sql(s"SELECT fact.* FROM fact LEFT SEMI JOIN ($build) b ON fact.k = b.k"))
    ).filter(_.startsWith("parquet-fact"))

  private def repeatable(what: String, build: String): Unit =
    test(s"$what makes a filter")(assert(filteredBy(build) == Seq("parquet-fact(k)")))

  private def notRepeatable(what: String, build: String): Unit = test(s"$what makes no filter")(assert(filteredBy(build) == Nil))

  notRepeatable("LIMIT", "SELECT k FROM dim LIMIT 10")
  notRepeatable("the first rows of an order with ties", "SELECT k FROM dim ORDER BY score LIMIT 10")
  notRepeatable(
    "a sample of shuffled rows",
    "SELECT k FROM (SELECT /*+ REPARTITION(3) */ k FROM dim) TABLESAMPLE (30 PERCENT) REPEATABLE (7)"
  )
  notRepeatable("first()", "SELECT a, first(k) AS k FROM dim GROUP BY a")
  notRepeatable("any_value()", "SELECT a, any_value(k) AS k FROM dim GROUP BY a")
  notRepeatable("max_by() at a tie", "SELECT a, max_by(k, score) AS k FROM dim GROUP BY a")
  notRepeatable("mode()", "SELECT a, mode(k) AS k FROM dim GROUP BY a")
  notRepeatable("the order of collected values", "SELECT a, collect_list(k)[0] AS k FROM dim GROUP BY a")
  notRepeatable(
    "row_number() at ties",
    "SELECT k FROM (SELECT k, row_number() OVER (PARTITION BY a ORDER BY score) AS n FROM dim) WHERE n < 4"
  )
  notRepeatable(
    "a running sum at ties",
    "SELECT k FROM (SELECT k, sum(k) OVER (PARTITION BY a ORDER BY score ROWS 2 PRECEDING) AS n FROM dim) WHERE n < 40"
  )

  notRepeatable("the sum of fractions", "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING sum(CAST(score AS double)) > 1")
  notRepeatable("the average of integers", "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING avg(score) < 1")
  repeatable("the average of decimals", "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING avg(CAST(score AS decimal(5,2))) < 1")
  notRepeatable("the average of long decimals", "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING avg(CAST(score AS decimal(11,2))) < 1")
  notRepeatable("a sum that is null after an overflow", "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING try_sum(score) < 9")
  notRepeatable("a sum of the widest decimals", "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING sum(CAST(score AS decimal(38,2))) < 9")
  notRepeatable("the largest of several zeros", "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING max(CAST(score AS double)) >= 0")
  notRepeatable(
    "the bytes of one of several equal strings",
    "SELECT CAST(s COLLATE UTF8_BINARY AS int) AS k FROM (SELECT CAST(k AS STRING) COLLATE UTF8_LCASE AS s FROM dim GROUP BY 1)"
  )
  repeatable("a group of equal strings", "SELECT max(k) AS k FROM dim GROUP BY CAST(score AS STRING) COLLATE UTF8_LCASE")
  notRepeatable(
    "one of several equal strings, as the largest",
    "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING max(CAST(score AS STRING) COLLATE UTF8_LCASE) <> ''"
  )
  notRepeatable("a standard deviation", "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING stddev(score) < 1")

  test("user code over whole partitions gives no filter") {
    val session = spark
    import session.implicits._
    spark.table("dim").select("k").as[Int].repartition(3).mapPartitions(_.take(10)).toDF("k").createOrReplaceTempView("taken")
    assert(filteredBy("SELECT k FROM taken") == Nil)
  }

  test("user code over single rows gives a filter") {
    val session = spark
    import session.implicits._
    spark.table("dim").select("k").as[Int].map(_ + 1).toDF("k").createOrReplaceTempView("mapped")
    assert(filteredBy("SELECT k FROM mapped") == Seq("parquet-fact(k)"))
  }

  test("an RDD without a shuffle repeats its rows") {
    val session = spark
    import session.implicits._
    val ordered = spark.sparkContext.parallelize(1 to 10, 2)
    val shuffled = ordered.repartition(3).mapPartitions(_.take(2))
    for (frame <- Seq[RDD[Int] => DataFrame](_.toDF("k"), numbers => spark.createDataFrame(numbers.map(Row(_)), OfNumbers))) {
      assert(Repeatable(frame(ordered).queryExecution.sparkPlan, Nil))
      assert(!Repeatable(frame(shuffled).queryExecution.sparkPlan, Nil))
    }
  }

  test("an operator that takes each row by itself repeats the rows of its input") {
    val operators = Seq[(Class[_], SparkPlan)](
      classOf[ExpandExec] -> planOf("SELECT k, count(*) AS n FROM dim GROUP BY CUBE (k, a)"),
      classOf[GenerateExec] -> planOf("SELECT explode(array(k, a)) AS k FROM dim"),
      classOf[UnionExec] -> planOf("SELECT k FROM dim UNION ALL SELECT k + 1 FROM dim"),
      classOf[BaseJoinExec] -> planOf("SELECT dim.k FROM dim JOIN fact ON dim.k = fact.k"),
      classOf[CoalesceExec] -> planOf("SELECT /*+ COALESCE(1) */ k FROM dim"),
      classOf[CollectMetricsExec] -> spark.table("dim").observe("metrics", count(lit(1)).as("rows")).queryExecution.sparkPlan,
      classOf[AQEShuffleReadExec] -> AQEShuffleReadExec(shuffled(planOf("SELECT k FROM dim")), Seq(CoalescedPartitionSpec(0, 1))),
      classOf[RowToColumnarTransition] -> RowToColumnarExec(planOf("SELECT k FROM dim")),
      classOf[EvalPythonExec] -> BatchEvalPythonExec(Nil, Nil, planOf("SELECT k FROM dim"))
    )
    def limited(plan: SparkPlan): SparkPlan = plan.transformUp { case scan: FileSourceScanExec => LocalLimitExec(3, scan) }
    assert(operators.collect { case (operator, plan) if !plan.exists(operator.isInstance(_)) => operator } == Nil)
    assert(operators.collect { case (operator, plan) if !Repeatable(plan, Nil) => operator } == Nil)
    assert(operators.collect { case (operator, plan) if Repeatable(limited(plan), Nil) => operator } == Nil)
  }

  test("a reused exchange, a filtered scan and an adaptive plan repeat the rows of the plan in them") {
    def holders(query: String): Seq[SparkPlan] = Seq(
      ReusedExchangeExec(planOf(query).output, shuffled(planOf(query))),
      RuntimeFilterExec(planOf(query), Nil, Nil, Nil, Nil),
      spark.sql(s"SELECT DISTINCT k FROM ($query)").queryExecution.executedPlan
    )
    assert(holders("SELECT k FROM dim").last.isInstanceOf[AdaptiveSparkPlanExec])
    assert(holders("SELECT k FROM dim").filterNot(Repeatable(_, Nil)) == Nil)
    assert(holders("SELECT k FROM dim LIMIT 10").filter(Repeatable(_, Nil)) == Nil)
  }

  test("a database repeats its rows unless it took over a limit, a sample or an aggregate") {
    val rows = new BaseRelation with TableScan {
      override def sqlContext: SQLContext = spark.sqlContext
      override def schema: StructType = OfNumbers
      override def buildScan(): RDD[Row] = spark.sparkContext.emptyRDD[Row]
    }
    val scans = spark.sessionState.executePlan(LogicalRelation(rows)).sparkPlan.collect { case scan: RowDataSourceScanExec => scan }
    for (scan <- scans) {
      val plain = scan.pushedDownOperators
      val takenOver = Seq(
        plain.copy(limit = Some(3)),
        plain.copy(offset = Some(3)),
        plain.copy(sample = Some(TableSampleInfo(0, 0.5, withReplacement = false, seed = 7))),
        plain.copy(aggregation = Some(new Aggregation(Array.empty, Array.empty)))
      )
      assert(Repeatable(scan, Nil))
      takenOver.foreach(pushed => assert(!Repeatable(scan.copy(pushedDownOperators = pushed), Nil), pushed))
    }
    assert(scans.size == 1)
  }

  test("a stage that turned out empty repeats that it has no rows") {
    assert(Repeatable(EmptyRelationExec(spark.table("dim").queryExecution.optimizedPlan), Nil))
  }

  test("a cached table gives a filter if its query does") {
    for ((name, build, filters) <- Seq(("kept", "SELECT k FROM dim WHERE a = 1", 1), ("cut", "SELECT k FROM dim LIMIT 10", 0))) {
      spark.sql(s"CACHE TABLE $name AS $build")
      assert(filteredBy(s"SELECT k FROM $name").size == filters, name)
    }
  }

  repeatable("a filter", "SELECT k FROM dim WHERE a = 1")
  repeatable("DISTINCT", "SELECT DISTINCT k FROM dim WHERE a = 1")
  repeatable(
    "a largest value",
    "SELECT a, max(k) AS k FROM dim GROUP BY a HAVING count(*) > 3 AND sum(score) > 1 AND avg(CAST(score AS smallint)) < 1"
  )
  repeatable("rank(), which ties share", "SELECT k FROM (SELECT k, rank() OVER (PARTITION BY a ORDER BY score) AS n FROM dim) WHERE n < 4")
  repeatable("the sum of a whole window", "SELECT k FROM (SELECT k, sum(score) OVER (PARTITION BY a) AS n FROM dim) WHERE n < 40")
}
