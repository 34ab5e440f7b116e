package io.aqeplugin.observe

import org.scalatest.funsuite.AnyFunSuite

class QueryStateSuite extends AnyFunSuite {
  private val exchange = "sales by ticket"

  test("an exchange of several plans has at most the filters of the plan that asks first") {
    val state = new QueryState(1L)
    assert(state.allowedOn(exchange).isEmpty)
    assert(state.agreeOn(exchange, Set("dates", "items"), isSettled = false) == Set("dates", "items"))
    assert(state.agreeOn(exchange, Set("items", "stores"), isSettled = false) == Set("items"))
    assert(state.allowedOn(exchange).contains(Set("dates", "items")))
  }

  test("an exchange of several plans has no more filters than a plan in which it may have started") {
    val state = new QueryState(1L)
    val _ = state.agreeOn(exchange, Set("dates", "items"), isSettled = false)
    assert(state.agreeOn(exchange, Set("items"), isSettled = true) == Set("items"))
    assert(state.agreeOn(exchange, Set("dates", "items"), isSettled = true) == Set("items"))
    assert(state.agreeOn(exchange, Set.empty, isSettled = true).isEmpty)
    assert(state.allowedOn(exchange).contains(Set.empty[String]))
  }
}
