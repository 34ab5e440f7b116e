package io.aqeplugin.place

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

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
    assert(Repeatable(ordered.toDF("k").queryExecution.sparkPlan, Nil))
    assert(!Repeatable(ordered.repartition(3).mapPartitions(_.take(2)).toDF("k").queryExecution.sparkPlan, Nil))
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
