package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeLike}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

class QueryPlansSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.mode" -> "off", "spark.sql.adaptive.enabled" -> "false")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("sold", "SELECT id AS ticket, id % 9 AS item, id % 7 AS amount FROM range(400)")
    table("back", "SELECT id * 9 AS ticket FROM range(40)")
  }

  /** Sales by item that are above a value. */
  private def above(value: String): String =
    s"SELECT item, sum(amount + ticket) AS paid FROM ($returned) GROUP BY item HAVING sum(amount + ticket) > $value"

  private def average = s"(SELECT avg(amount + ticket + item) FROM ($returned))"

  private def returned = "SELECT sold.ticket, item, amount FROM sold JOIN back ON sold.ticket = back.ticket"

  /** The plans of a query, the joins of its own plan and of its subqueries, and the shuffles of its own plan's scans. */
  private final class Planned(query: String) {
    private val execution = spark.sql(query).queryExecution
    val plans: QueryPlans = QueryPlans.of(execution.optimizedPlan)
    val own: Seq[JoinId] = joins(execution.optimizedPlan)
    val others: Seq[JoinId] = execution.optimizedPlan.subqueriesAll.flatMap(joins)
    def shuffle(column: String): Exchange = execution.executedPlan.collectFirst {
      case shuffle: ShuffleExchangeLike if shuffle.collectLeaves().map(_.output.exists(_.name == column)) == Seq(true) => shuffle
    }.getOrElse(fail(s"no shuffle of $column in ${execution.executedPlan}"))

    private def joins(plan: LogicalPlan): Seq[JoinId] = plan.collect { case join: Join => EqualityJoin.of(join).map(_.id) }.flatten
  }

  test("an equal join of a query and its subquery is one join, which uses the shuffles below it alike") {
    val planned = new Planned(above(average))
    assert(planned.own.size == 1 && planned.others.size == 1 && planned.own != planned.others)
    assert(planned.others.map(planned.plans.firstOf) == planned.own)
    assert(planned.plans.isShared(planned.own.head) && planned.plans.mayShare(planned.shuffle("amount")))
    assert(planned.plans.useAlike(planned.shuffle("amount"), planned.own.head))
  }

  test("joins of which one has another condition are two joins") {
    val planned = new Planned(s"SELECT * FROM ($returned) WHERE amount > (SELECT avg(amount) FROM ($returned AND item < 5))")
    assert((planned.own ++ planned.others).forall(join => planned.plans.firstOf(join) == join && !planned.plans.isShared(join)))
  }

  test("two equal joins in one plan are two joins") {
    val twice = s"SELECT amount FROM ($returned) UNION ALL SELECT amount FROM ($returned)"
    val planned = new Planned(s"$twice UNION ALL SELECT (SELECT max(amount) FROM ($returned))")
    assert(planned.own.size == 2)
    assert((planned.own ++ planned.others).forall(join => planned.plans.firstOf(join) == join))
  }

  test("a plan that reads the scans of a shuffle without the join does not use it alike") {
    val alone = "SELECT count(*) FROM (SELECT DISTINCT ticket, item, amount FROM sold WHERE ticket IS NOT NULL)"
    val planned = new Planned(above(s"$average + ($alone)"))
    assert(planned.plans.isShared(planned.own.head))
    assert(!planned.plans.useAlike(planned.shuffle("amount"), planned.own.head))
  }

  test("where joins of several plans stay apart, none has an equal one") {
    val planned = new Planned(above(average))
    val apart = planned.plans.copy(haveJoinsAlike = false)
    assert((planned.own ++ planned.others).forall(join => apart.firstOf(join) == join && !apart.isShared(join)))
  }
}
