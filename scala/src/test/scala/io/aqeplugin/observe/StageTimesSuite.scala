package io.aqeplugin.observe

import org.scalatest.funsuite.AnyFunSuite

class StageTimesSuite extends AnyFunSuite {

  private def filled(runs: Int, metrics: Int): StageTimes = {
    val times = new StageTimes
    (1 to runs).foreach(i => times.add(StageRun(Some(i), i.toLong, (1L to metrics.toLong).toSet)))
    times
  }

  test("the stages of a query are kept in the order of their ends") {
    assert(filled(3, 0).runs.map(_.map(_.runMillis)).contains(Seq(1L, 2L, 3L)))
    assert(new StageTimes().runs.contains(Nil))
  }

  test("of a query with more stages, or more metrics in them, than are kept nothing is said") {
    assert(filled(StageTimes.MaxStages, 1).runs.isDefined)
    assert(filled(StageTimes.MaxStages + 1, 1).runs.isEmpty)
    assert(filled(3, 40000).runs.isEmpty)
  }
}
