package io.aqeplugin.e2e

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.exec.KeySketchExec

/** What a build side says of its keys when it has run, and the filter that is made of them. */
class KeySketchSuite extends AnyFunSuite with PluginSession {

  private val Shuffled = Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1")
  private val NoSketch = "spark.aqePlugin.sketch.maxKeys" -> "0"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id, CAST(id % 1000 AS int) AS k, concat('k', id % 1000) AS s, id % 1000 AS wide FROM range(20000)", files = 4)
    table(
      "dims",
      "SELECT IF(id % 50 = 49, NULL, CAST(id DIV 2 AS int)) AS k, concat('k', id DIV 2) AS s, id AS d FROM range(2000)",
      files = 3
    )
  }

  private val Query = "SELECT f.id, d.d FROM facts f JOIN dims d ON f.k = d.k WHERE d.d BETWEEN 100 AND 299"

  private def keysOf(ran: Ran): JsonNode =
    ran.decided.headOption.getOrElse(fail("no decision")).decision.path("facts").path("build").path("keys")

  private def sketches(plan: SparkPlan): Seq[KeySketchExec] =
    collectWithSubqueries(plan) {
      case sketch: KeySketchExec => Seq(sketch)
      // The stage of the join may reuse the exchange below its filter.
      case reused: ReusedExchangeExec => sketches(reused.child)
    }.flatten.distinct

  test("the facts of a join have the distinct keys, nulls, range and histogram of its build side") {
    withConf(Shuffled: _*) {
      val keys = keysOf(sameRows(spark.sql(Query)))
      assert(keys.path("distinct").asLong == 100 && keys.path("nulls").asLong == 0, keys)
      assert(keys.path("min").asLong == 50 && keys.path("max").asLong == 149, keys)
      val histogram = keys.path("histogram")
      assert(histogram.path(0).path("low").asLong == 50 && histogram.path(histogram.size - 1).path("high").asLong == 149, keys)
    }
  }

  test("few keys are the filter, without a job of its own") {
    withConf(Shuffled: _*) {
      val sketched = sameRows(spark.sql(Query))
      val built = withConf(NoSketch)(sameRows(spark.sql(Query)))
      assert(filtered(sketched) == Seq("parquet-facts(k)") && filtered(built) == filtered(sketched))
      assert(sketched.jobs == built.jobs - 1)
      val (one, other) = (outcomes(sketched).head, outcomes(built).head)
      Seq("kind", "keysIn", "rowsIn", "rowsOut").foreach(name => assert(one.path(name) == other.path(name), name))
    }
  }

  test("the filter of a broadcast build side is made of the keys that its tasks kept") {
    val ran = sameRows(spark.sql(Query))
    assert(filtered(ran) == Seq("parquet-facts(k)") && keysOf(ran).path("distinct").asLong == 100)
  }

  test("keys of several columns and of strings are counted too") {
    withConf(Shuffled: _*) {
      val text = sameRows(spark.sql("SELECT f.id FROM facts f JOIN dims d ON f.s = d.s WHERE d.d < 60"))
      assert(keysOf(text).path("distinct").asLong == 30 && keysOf(text).path("min").isNull)
      val two = sameRows(spark.sql("SELECT f.id FROM facts f JOIN dims d ON f.s = d.s AND f.k = d.k WHERE d.d < 60"))
      assert(filtered(two) == Seq("parquet-facts(k,s)") && two.jobs == text.jobs)
    }
  }

  test("every type of key has the same codes in generated code, in interpreted code and in batches") {
    val keys = Seq(
      "CAST(id AS smallint)",
      "CAST(id AS bigint)",
      "id % 2 = 0",
      "DATE'2020-01-01' + CAST(id AS int)",
      "CAST(id AS timestamp)",
      "CAST(id AS decimal(12,2))",
      "CAST(id AS decimal(30,2))",
      "concat('a long prefix of the key ', id)"
    )
    val columns = keys.zipWithIndex.map { case (key, i) => s"$key AS k$i" }.mkString(", ")
    table("typed", s"SELECT id, $columns FROM range(4000)", files = 2)
    table("typed_dims", s"SELECT id AS d, $columns FROM range(40)", files = 2)
    def kept(query: String): Long = outcomes(sameRows(spark.sql(query))).map(_.path("rowsOut").asLong).sum
    val joins = keys.indices.map(i => s"f.k$i = d.k$i") :+ "f.k0 = d.k0 AND f.k7 = d.k7 AND f.k6 = d.k6"
    withConf(Shuffled: _*) {
      // With a predicate, the sketch is part of generated code; without one, it sees the batches of the scan.
      val predicates = Seq("WHERE d IS NOT NULL AND abs(d) < 20", "")
      joins.zipWithIndex.foreach { case (join, number) =>
        val tried = if (Extent.TriesAll) predicates else Seq(predicates(number % predicates.size))
        tried.foreach { predicate =>
          val query = s"SELECT f.id FROM typed f JOIN (SELECT * FROM typed_dims $predicate) d ON $join"
          val expected = withConf(NoSketch)(kept(query))
          assert(kept(query) == expected, join)
          assert(withConf("spark.sql.codegen.wholeStage" -> "false")(kept(query)) == expected, join)
        }
      }
    }
  }

  test("more keys than are kept make a filter by a job, sized by the distinct keys") {
    withConf(Shuffled :+ ("spark.aqePlugin.sketch.maxKeys" -> "20"): _*) {
      val ran = sameRows(spark.sql(Query))
      val distinct = keysOf(ran).path("distinct").asLong
      assert(distinct >= 50 && distinct <= 200, "an estimate of 100")
      assert(filtered(ran) == Seq("parquet-facts(k)"))
      assert(withConf("spark.aqePlugin.sketch.maxKeys" -> "100")(sameRows(spark.sql(Query))).jobs == ran.jobs - 1)
    }
  }

  test("a build side without rows, or with null keys alone, lets no row pass") {
    withConf(Shuffled: _*) {
      Seq("d.d < 0", "d.d = 49").foreach { none =>
        val ran = sameRows(spark.sql(s"SELECT f.id FROM facts f LEFT SEMI JOIN (SELECT k, d FROM dims) d ON f.k = d.k AND $none"))
        assert(ran.rows.isEmpty)
      }
    }
  }

  test("exchanges are reused as they are without sketches") {
    withConf(Shuffled: _*) {
      val query = "WITH b AS (SELECT k, count(*) AS c FROM dims GROUP BY k) " +
        "SELECT f.id FROM facts f JOIN b ON f.k = b.k JOIN b AS other ON b.k = other.k AND b.c = other.c JOIN facts g ON g.k = other.k WHERE g.id < 50"
      def exchanges(ran: Ran): (Int, Int) =
        (collect(ran.plan) { case e: Exchange => e }.size, collect(ran.plan) { case r: ReusedExchangeExec => r }.size)
      assert(exchanges(sameRows(spark.sql(query))) == withConf(NoSketch)(exchanges(sameRows(spark.sql(query)))))
    }
  }

  test("dynamic partition pruning still finds its broadcast") {
    val path = folder.resolve("by-day").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.range(1000).selectExpr("id", "id % 20 AS day").write.partitionBy("day").parquet(path)
    }
    spark.read.parquet(path).createOrReplaceTempView("by_day")
    val query = "SELECT p.id, d.d FROM by_day p JOIN dims d ON p.day = d.k WHERE d.d IN (4, 5, 8)"
    def subqueries(ran: Ran): Int = collectWithSubqueries(ran.plan) { case r: ReusedExchangeExec => r }.size
    assert(subqueries(sameRows(spark.sql(query))) == withConf(NoSketch)(subqueries(sameRows(spark.sql(query)))))
  }

  test("a plan has a sketch below each build side's exchange, and mode observe has none") {
    withConf(Shuffled: _*) {
      val plan = sameRows(spark.sql(Query)).plan
      assert(sketches(plan).size == 1, plan)
      withConf("spark.aqePlugin.mode" -> "observe")(assert(sketches(ran(spark.sql(Query)).plan).isEmpty))
      withConf(NoSketch)(assert(sketches(ran(spark.sql(Query)).plan).isEmpty))
    }
  }

  test("a task that fails and runs again counts once") {
    spark.udf.register(
      "fails_once",
      (id: Long) => {
        val task = org.apache.spark.TaskContext.get()
        if (task != null && task.attemptNumber() == 0 && id == 150) throw new IllegalStateException("the first attempt fails")
        id
      }
    )
    withConf(Shuffled: _*) {
      val ran = withPlugin(
        spark.sql("SELECT f.id, d.d FROM facts f JOIN (SELECT k, d FROM dims WHERE fails_once(d) BETWEEN 100 AND 299) d ON f.k = d.k")
      )
      assert(keysOf(ran).path("distinct").asLong == 100)
      assert(ran.rows.size == 196 * 20, "four of the 200 keys are null")
    }
  }

  override protected def applicationConf: Map[String, String] = Map("spark.master" -> "local[2,2]")
}
