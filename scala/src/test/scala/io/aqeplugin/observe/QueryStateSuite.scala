package io.aqeplugin.observe

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.exec.NoRowsExec

class QueryStateSuite extends AnyFunSuite {
  private val exchange = NoRowsExec(Nil)

  test("an exchange of several plans has the filters of the plan that starts it first") {
    val state = new QueryState(1L)
    assert(state.agreeOn(exchange, Set("dates"), starts = false) == Set("dates"))
    assert(state.agreeOn(exchange, Set("items"), starts = false) == Set("items"))
    assert(state.agreeOn(exchange, Set("items"), starts = true) == Set("items"))
    assert(state.agreeOn(exchange, Set("dates", "items"), starts = false) == Set("items"))
    assert(state.agreeOn(exchange, Set.empty, starts = true) == Set("items"))
  }

  test("an exchange that starts without a filter gets none from another plan") {
    val state = new QueryState(1L)
    assert(state.agreeOn(exchange, Set.empty, starts = true).isEmpty)
    assert(state.agreeOn(exchange, Set("dates"), starts = true).isEmpty)
  }
}
