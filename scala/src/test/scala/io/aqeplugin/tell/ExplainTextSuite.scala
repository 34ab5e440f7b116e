package io.aqeplugin.tell

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{Reason, ReasonCode}

class ExplainTextSuite extends AnyFunSuite {

  test("a reason has its numbers in readable units and the conf key of its limit") {
    val key = "spark.aqePlugin.wait.savingShare"
    val pays = Reason(ReasonCode.WaitPays, Some(500.81), Some(27.133), "millis", key)
    assert(ExplainText.reason(pays) == s"WAIT_PAYS: 501 ms against 27 ms, $key")
    val large = Reason(ReasonCode.BroadcastMemory, Some(96.0 * 1024 * 1024), Some(64.0 * 1024 * 1024), "bytes", "")
    assert(ExplainText.reason(large) == "BROADCAST_MEMORY: 96.0 MiB against 64.0 MiB")
    assert(ExplainText.reason(Reason(ReasonCode.Hint)) == "HINT")
    val half = Reason(ReasonCode.FilterCostsMore, Some(38.0), Some(34.5), "millis", "")
    assert(ExplainText.reason(half) == "FILTER_COSTS_MORE: 38 ms against 34 ms", "as the command line rounds")
    val tie = Reason(ReasonCode.Tie, Some(0.412), Some(0.398), "millis", "")
    assert(ExplainText.reason(tie) == "TIE: 0.41 ms against 0.40 ms")
  }
}
