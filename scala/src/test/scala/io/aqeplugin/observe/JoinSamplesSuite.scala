package io.aqeplugin.observe

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{SampledKeys, Side}

class JoinSamplesSuite extends AnyFunSuite {

  test("each scan that a join's keys reach is sampled once, and the latest serves where the scan is not known") {
    val state = new QueryState(1L)
    val (sales, returns) = (Seq(ExprId(1, jvm)), Seq(ExprId(2, jvm)))
    def known(columns: Option[Seq[ExprId]], side: Side = Side.Right): Option[ProbeSample] =
      state.sampleOf("join", side, columns).flatMap(_.rows)
    def sampled(columns: Seq[ExprId])(sample: => Sample): Option[ProbeSample] = {
      state.sampleOnce("join", Side.Right, columns)(Some(sample), None)
      known(columns = None)
    }
    val (first, second) = (new Sample, new Sample)
    assert(sampled(sales)(first).contains(first) && sampled(sales)(fail("sampled again")).contains(first))
    assert(sampled(returns)(second).contains(second))
    assert(known(Some(sales)).contains(first) && known(Some(returns)).contains(second))
    assert(sampled(sales)(fail("sampled again")).contains(first))
    assert(known(columns = None, Side.Left).isEmpty && known(Some(Nil)).isEmpty)
  }

  private val jvm = UUID.randomUUID()

  private final class Sample extends ProbeSample {
    override def matching(build: => Option[BuildKeys]): Option[SampledKeys] = None
  }
}
