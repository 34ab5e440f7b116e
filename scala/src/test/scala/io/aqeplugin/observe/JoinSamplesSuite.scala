package io.aqeplugin.observe

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{SampledKeys, Side}

class JoinSamplesSuite extends AnyFunSuite {

  test("each scan that a join's keys reach is sampled once, and the latest serves where the scan is not known") {
    val samples = new JoinSamples
    val (sales, returns) = (Seq(ExprId(1, jvm)), Seq(ExprId(2, jvm)))
    def sampled(columns: Seq[ExprId])(sample: => Sample): Option[ProbeSample] = {
      samples.takeOnce("join", Side.Right, columns)(Some(sample))
      samples.of("join", Side.Right, columns = None)
    }
    val (first, second) = (new Sample, new Sample)
    assert(sampled(sales)(first).contains(first) && sampled(sales)(fail("sampled again")).contains(first))
    assert(sampled(returns)(second).contains(second))
    assert(samples.of("join", Side.Right, Some(sales)).contains(first) && samples.of("join", Side.Right, Some(returns)).contains(second))
    assert(sampled(sales)(fail("sampled again")).contains(first))
    assert(samples.of("join", Side.Left, columns = None).isEmpty && samples.of("join", Side.Right, Some(Nil)).isEmpty)
  }

  private val jvm = UUID.randomUUID()

  private final class Sample extends ProbeSample {
    override def matching(build: => Option[BuildKeys]): Option[SampledKeys] = None
  }
}
