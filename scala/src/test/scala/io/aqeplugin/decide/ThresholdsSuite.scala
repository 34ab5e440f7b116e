package io.aqeplugin.decide

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf

class ThresholdsSuite extends AnyFunSuite {

  test("Spark's own broadcast limit applies and is named where it is lower") {
    val default = Thresholds.Default
    val own = default(AqeConf.BroadcastMaxMemoryBytes)
    assert(default.withBroadcastAtMost(own, "sparks.key") == default)
    val lower = default.withBroadcastAtMost(own - 1, "sparks.key")
    assert(lower(AqeConf.BroadcastMaxMemoryBytes) == own - 1 && lower.broadcastMemoryKey == "sparks.key")
  }
}
