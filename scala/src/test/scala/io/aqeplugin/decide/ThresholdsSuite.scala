package io.aqeplugin.decide

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.{AqeConf, Settings}

class ThresholdsSuite extends AnyFunSuite {

  test("thresholds follow the settings") {
    val settings =
      Settings.Default.updated(AqeConf.FilterMaxPerScan, 2L).updated(AqeConf.CostMergeNanosPerRow, 7.5).updated(AqeConf.WaitMaxIdle, 5L)
    val thresholds = Thresholds.from(settings)
    assert(thresholds.filter.maxPerScan == 2)
    assert(thresholds.cost.mergeNanosPerRow == 7.5)
    assert(thresholds.waiting.maxIdleMillis == 5)
    assert(!thresholds.openGates)
  }
}
