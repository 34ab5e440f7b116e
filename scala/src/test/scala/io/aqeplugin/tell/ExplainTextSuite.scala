package io.aqeplugin.tell

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.{AqeConf, Forced, ForcedOption}
import io.aqeplugin.decide.{DecideJoin, FactsGen, Reason, ReasonCode, Thresholds}

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

  test("a forced join also says what would have been chosen, with its reasons") {
    val model = DecideJoin.decide(FactsGen.Typical, Thresholds.Default)
    val forcing = Thresholds.Default.updated(AqeConf.Force, Forced(Map.empty, Some(ForcedOption.PlainSortMerge)))
    val decision = DecideJoin.decide(FactsGen.Typical, forcing)
    assert(model.choice != decision.choice && model.buildFilter)
    val said = s"plain_sort_merge (FORCED: ${AqeConf.Force.key}; else ${model.choice.name}, ${ExplainText.reason(model.reason)}, " +
      s"with a filter, ${ExplainText.reason(model.filterReason)})"
    assert(ExplainText.line(decision).contains(said) && ExplainText.line(1, decision).contains(said), ExplainText.line(decision))
    assert(!ExplainText.line(model).contains("; else"))
  }
}
