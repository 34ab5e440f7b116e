package io.aqeplugin.observe

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{SampledKeys, Side}

class QueryStateSuite extends AnyFunSuite {
  private val exchange = "sales by ticket"

  test("a sample is of the scan that the join's keys reach now") {
    val state = new QueryState(1L)
    val (sales, returns) = (Seq(ExprId(1, jvm)), Seq(ExprId(2, jvm)))
    def sampled(columns: Seq[ExprId])(sample: => Sample): Option[ProbeSample] = {
      state.sampleOnce("join", Side.Right, columns)(Some(sample))
      state.sample("join", Side.Right, columns = None)
    }
    val (first, second) = (new Sample, new Sample)
    assert(sampled(sales)(first).contains(first) && sampled(sales)(fail("sampled again")).contains(first))
    assert(sampled(returns)(second).contains(second))
    assert(state.sample("join", Side.Right, Some(returns)).contains(second) && state.sample("join", Side.Right, Some(sales)).isEmpty)
    state.forgetSample("join", Side.Right)
    assert(state.sample("join", Side.Right, columns = None).isEmpty)
  }

  private val jvm = UUID.randomUUID()

  private final class Sample extends ProbeSample {
    override def matching(build: => Option[BuildKeys]): Option[SampledKeys] = None
  }

  test("an exchange of several plans has at most the filters of the plan that asks first") {
    val state = new QueryState(1L)
    assert(state.allowedOn(exchange).isEmpty)
    assert(state.agreeOn(exchange, Set("dates", "items"), isSettled = false) == Set("dates", "items"))
    assert(state.agreeOn(exchange, Set("items", "stores"), isSettled = false) == Set("items"))
    assert(state.allowedOn(exchange).contains(Set("dates", "items")))
  }

  test("an exchange of several plans has no more filters than a plan in which it may have started") {
    val state = new QueryState(1L)
    val _ = state.agreeOn(exchange, Set("dates", "items"), isSettled = false)
    assert(state.agreeOn(exchange, Set("items"), isSettled = true) == Set("items"))
    assert(state.agreeOn(exchange, Set("dates", "items"), isSettled = true) == Set("items"))
    assert(state.agreeOn(exchange, Set.empty, isSettled = true).isEmpty)
    assert(state.allowedOn(exchange).contains(Set.empty[String]))
  }
}
