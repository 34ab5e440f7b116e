package io.aqeplugin.e2e

import elsewhere.{Engine, OwnJoinExec, PassExec}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SimpleMode
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.exec.KeySketchExec

/** Joins beside an engine that the plugin does not know. */
class ForeignNodesSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map(
    "spark.sql.extensions" -> classOf[Engine].getName,
    "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 900 AS k, id AS v FROM range(20000)", files = 2)
    table("dim", "SELECT id * 9 AS dk, id % 7 AS kind FROM range(200)")
  }

  private val Query = "SELECT v, kind FROM fact JOIN dim ON k = dk WHERE kind < 3"

  private def withEngine[A](when: String, what: String)(body: => A): A = withConf(Engine.When -> when, Engine.What -> what)(body)

  /** The operators of the final plan, from the top down. */
  private def operators(frame: => DataFrame): Seq[String] = {
    val made = frame
    val _ = made.collect()
    collectWithSubqueries(made.queryExecution.executedPlan) { case node => node.getClass.getSimpleName }
  }

  private def explained(frame: DataFrame): String = frame.queryExecution.explainString(SimpleMode)

  private def assertLeftAlone(foreign: Class[_])(query: => DataFrame): Assertion = {
    val result = sameRows(query)
    assert(filters(result.plan).isEmpty && collectWithSubqueries(result.plan) { case sketch: KeySketchExec => sketch }.isEmpty, result.plan)
    assert(result.decided.size == 1, result.events)
    val decision = result.decided.head.decision
    Seq("reason", "filterReason").map(decision.get).foreach { reason =>
      assert(reason.get("code").textValue == "FOREIGN_NODE" && reason.get("subject").textValue == foreign.getName, decision)
    }
    val frame = query
    assert(explained(frame).contains(s"FOREIGN_NODE: ${foreign.getName}"), explained(frame))
    val withUs = withConf("spark.aqePlugin.test.openGates" -> "true")(operators(query))
    assert(withUs == withConf("spark.aqePlugin.mode" -> "off")(operators(query)))
  }

  for (when <- Seq("prepared", "columnar")) {
    test(s"a join above an operator of another engine is left alone, which is in the plan when it is $when") {
      withEngine(when, "exchange")(assertLeftAlone(classOf[PassExec])(spark.sql(Query)))
    }

    test(s"a join that another engine carries out is left alone, which is in the plan when it is $when") {
      withEngine(when, "join")(assertLeftAlone(classOf[OwnJoinExec])(spark.sql(Query)))
    }
  }

  test("an operator of another engine above a join does not concern it") {
    withEngine("prepared", "top") {
      val result = sameRows(spark.sql(Query))
      assert(result.plan.toString.contains("Pass") && filtered(result) == Seq("parquet-fact(k)"), result.plan)
    }
  }

  test("an engine that leaves a session alone changes nothing") {
    assert(filtered(sameRows(spark.sql(Query))) == Seq("parquet-fact(k)"))
  }

  test("a rule of another engine that fails when the plugin asks it changes nothing") {
    // It takes plans of stages alone, of which AQE makes one.
    val expected = withoutPlugin(spark.sql(Query))
    withEngine("columnar", "failing") {
      val result = withPlugin(spark.sql(Query))
      assert(result.rows == expected && filtered(result) == Seq("parquet-fact(k)"))
    }
  }

  test("no strategy is chosen, however small the measured build side") {
    withEngine("columnar", "exchange") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "1", "spark.aqePlugin.mode" -> "apply") {
        val frame = spark.sql(Query)
        assert(operators(frame).contains("SortMergeJoinExec"))
      }
    }
  }

  test("a join by a range above another engine's operator is left alone") {
    withEngine("prepared", "exchange") {
      val result =
        sameRows(spark.sql("SELECT count(*) FROM (SELECT DISTINCT k FROM fact) f JOIN dim ON k BETWEEN dk AND dk + 2 WHERE kind < 3"))
      assert(filters(result.plan).isEmpty, result.plan)
    }
  }

  test("mode observe records the same reason") {
    withEngine("prepared", "join")(withConf("spark.aqePlugin.mode" -> "observe") {
      val reasons = ran(spark.sql(Query)).decided.map(_.decision.get("reason").get("code").textValue)
      assert(reasons == Seq("FOREIGN_NODE"))
    })
  }

  test("decisions as a table name the operator") {
    withEngine("prepared", "exchange") {
      val _ = spark.sql(Query).collect()
      drain()
      val rows = spark.sql("SELECT reason_subject FROM aqe_decisions() WHERE reason = 'FOREIGN_NODE' ORDER BY decided_at DESC LIMIT 1")
      assert(rows.collect().map(_.getString(0)).toSeq == Seq(classOf[PassExec].getName))
    }
  }
}
