package io.aqeplugin.plugin

import org.scalatest.funsuite.AnyFunSuite

class ConfListSuite extends AnyFunSuite {

  test("the plugin's class is added once, at the end of the user's class list") {
    assert(ConfList.appended(None, "x.Ours") == "x.Ours")
    assert(ConfList.appended(Some("a.B, c.D"), "x.Ours") == "a.B,c.D,x.Ours")
    assert(ConfList.appended(Some("x.Ours,a.B"), "x.Ours") == "a.B,x.Ours")
    assert(ConfList.appended(Some(" , "), "x.Ours") == "x.Ours")
  }
}
