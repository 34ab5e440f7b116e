package io.aqeplugin.regression

import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{JoinKind, Side}
import io.aqeplugin.rules.SparkThreshold

/** AQE has its own broadcast threshold besides the general one. Users who had switched broadcasts off with it still got them. */
class BroadcastThresholdSuite extends AnyFunSuite {
  private val General = "spark.sql.autoBroadcastJoinThreshold"
  private val Adaptive = "spark.sql.adaptive.autoBroadcastJoinThreshold"

  private def mayBroadcast(thresholds: (String, String)*): Boolean = {
    val conf = new SQLConf()
    thresholds.foreach { case (key, value) => conf.setConfString(key, value) }
    SQLConf.withExistingConf(conf)(SparkThreshold.mayBroadcast(JoinKind.Inner, Side.Right))
  }

  test("a small threshold does not forbid a broadcast of a measured build side") {
    assert(mayBroadcast(General -> "10"))
  }

  test("a negative threshold forbids broadcasts") {
    assert(!mayBroadcast(General -> "-1"))
  }

  test("a negative AQE threshold forbids broadcasts") {
    assert(!mayBroadcast(General -> "10", Adaptive -> "-1"))
  }
}
