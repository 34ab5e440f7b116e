package io.aqeplugin.rules

import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}
import org.scalatest.funsuite.AnyFunSuite

class PlannedWaitsSuite extends AnyFunSuite {

  private def scan(): SparkPlan = LocalTableScanExec(Nil, Nil, None)
  private val (facts, returns) = (scan(), scan())

  test("a scan waits for the longest of its joins, equal scans each for their own") {
    val waits = new PlannedWaits
    waits.add(Seq(facts), 30)
    waits.add(Seq(facts), 20)
    assert(waits.ofAll(Seq(facts)) == 30 && waits.ofAll(Seq(returns)) == 0)
  }

  test("several scans all wait only as long as the one that waits least") {
    val waits = new PlannedWaits
    waits.add(Seq(facts), 30)
    waits.add(Seq(returns), 10)
    assert(waits.ofAll(Seq(facts, returns)) == 10 && waits.ofAll(Nil) == 0)
  }
}
