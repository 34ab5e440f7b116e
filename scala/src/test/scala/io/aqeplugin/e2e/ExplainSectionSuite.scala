package io.aqeplugin.e2e

import org.apache.spark.sql.{DataFrame, ExtendedExplainGenerator}
import org.apache.spark.sql.execution.{SimpleMode, SparkPlan}
import org.scalatest.funsuite.AnyFunSuite

/** What EXPLAIN says of joins, before and after a query has run. */
class ExplainSectionSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map(
    "spark.sql.extendedExplainProviders" -> classOf[ExplainSectionSuite.OwnSection].getName,
    "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("sold", "SELECT id % 3000 AS item, id % 7 AS v FROM range(100000)", files = 2)
    table("item", "SELECT id AS i, id % 5 AS kind FROM range(0, 4000, 2)")
    table("price", "SELECT id AS pi, id * 3 AS cents FROM range(0, 4000, 3)")
    table("offer", "SELECT id AS oi, id % 3 AS least_v, id % 3 + 2 AS most_v FROM range(0, 4000, 5)")
  }

  private val Query =
    "SELECT v, max(cents), count(*) FROM sold LEFT JOIN item ON item = i JOIN price ON v = pi WHERE kind < 9 OR kind IS NULL GROUP BY v"

  private val NoJoin = "this plan has no join to decide; the decisions on joins that AQE has removed are in aqe_decisions()"

  private def explained(frame: DataFrame): String = frame.queryExecution.explainString(SimpleMode)

  private def section(text: String): Seq[String] =
    text.linesIterator.dropWhile(!_.contains("(aqe-plugin)")).drop(1).takeWhile(line => line.nonEmpty && !line.startsWith("==")).toSeq

  test("before a query has run, every join says why its probe side waits or not") {
    val lines = section(explained(spark.sql(Query)))
    assert(lines.size == 2 && lines.forall(_.contains("not decided yet")), lines)
    assert(lines.exists(_.startsWith("left_outer:item=i: ")) && lines.exists(_.startsWith("inner:v=pi: ")), lines)
  }

  test("the SQL command EXPLAIN says the same, and records nothing of the query that it does not run") {
    val said = ran(spark.sql(s"EXPLAIN $Query"))
    assert(section(said.rows.mkString.stripSuffix("]")).size == 2, said.rows)
    assert(said.decided.isEmpty && said.ended.isEmpty, said.events)
    val inferring = "SELECT cents FROM sold JOIN price ON item = pi WHERE (item = 3 AND cents = 9) OR (pi = 6 AND v = 2)"
    assert(ran(spark.sql(inferring)).predicates.nonEmpty)
    val explained = ran(spark.sql(s"EXPLAIN $inferring"))
    assert(explained.predicates.isEmpty && explained.ended.isEmpty, explained.events)
  }

  test("after it has run, every join has Spark's choice, the plugin's and its reason, also without a filter") {
    val frame = spark.sql(Query)
    val _ = frame.collect()
    val lines = section(explained(frame))
    assert(lines.size == 2 && !lines.exists(_.contains("not decided yet")), lines)
    assert(lines.exists(line => line.startsWith("left_outer:item=i: ") && line.contains("no filter (JOIN_TYPE")), lines)
    assert(lines.forall(_.contains(": Spark: plain_sort_merge, plugin: ")), lines)
  }

  test("a method of Spark's that has no price is another method") {
    val frame = spark.sql("SELECT /*+ SHUFFLE_HASH(sold) */ count(*) FROM sold JOIN price ON item = pi")
    val _ = frame.collect()
    assert(section(explained(frame)).forall(_.contains(": Spark: another method, plugin: ")), explained(frame))
  }

  test("a join with equalities and a range has a line for each, before and after it has run") {
    val frame = spark.sql("SELECT count(*) FROM sold JOIN offer ON item = oi AND v BETWEEN least_v AND most_v")
    def ids = section(explained(frame)).map(_.takeWhile(_ != ' '))
    val both = Seq("inner:item=oi:", "inner:v<=most_v,v>=least_v:")
    assert(ids == both && section(explained(frame)).forall(_.contains("not decided yet")), explained(frame))
    val _ = frame.collect()
    assert(ids == both && section(explained(frame)).forall(_.contains(": Spark: ")), explained(frame))
  }

  test("in mode observe, the plan is said to stay Spark's") {
    withConf("spark.aqePlugin.mode" -> "observe") {
      assert(section(explained(spark.sql(Query))).last == "spark.aqePlugin.mode is observe: the plan stays Spark's")
    }
  }

  test("a forced option for a join that the plan does not have is named") {
    withConf("spark.aqePlugin.force" -> "inner:v=pi=plain_sort_merge;inner:vv=pi=broadcast") {
      val lines = section(explained(spark.sql(Query)))
      assert(lines.filterNot(_.contains("not decided yet")) == Seq(
        "no join of this plan is inner:vv=pi: spark.aqePlugin.force forces nothing there"
      ))
    }
  }

  test("a join without an equality or a range has no line") {
    val lines = section(explained(spark.sql("SELECT count(*) FROM sold JOIN offer ON item = oi JOIN item ON kind = v OR i = item")))
    assert(lines.size == 1 && lines.head.startsWith("inner:item=oi: "), lines)
    assert(section(explained(spark.sql("SELECT count(*) FROM item, price"))) == Seq(NoJoin))
  }

  test("without adaptive execution, the section says so") {
    val off = Seq("every join is left to Spark: spark.sql.adaptive.enabled is false")
    withConf("spark.sql.adaptive.enabled" -> "false")(assert(section(explained(spark.sql(Query))) == off))
  }

  test("a query without a join says so, and so does the mode off") {
    assert(section(explained(spark.sql("SELECT count(*) FROM sold"))) == Seq(NoJoin))
    withConf(
      "spark.aqePlugin.mode" -> "off"
    )(assert(section(explained(spark.sql(Query))) == Seq("the plugin is off: spark.aqePlugin.mode")))
  }

  test("a conf that is not allowed is named, with what is allowed") {
    withConf("spark.aqePlugin.filter.maxPassRate" -> "9") {
      val lines = section(explained(spark.sql(Query)))
      assert(
        lines.size == 1 && lines.head.startsWith("every join is left to Spark. Bad value for spark.aqePlugin.filter.maxPassRate: '9'"),
        lines
      )
    }
  }

  test("the user's own sections stay") {
    assert(explained(spark.sql("SELECT 1")).contains("a section of the user's"))
  }
}

object ExplainSectionSuite {

  /** A user's section. */
  final class OwnSection extends ExtendedExplainGenerator {
    override def title: String = "own"
    override def generateExtendedInfo(plan: SparkPlan): String = "a section of the user's"
  }
}
