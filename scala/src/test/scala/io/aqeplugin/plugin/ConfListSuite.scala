package io.aqeplugin.plugin

import org.scalatest.funsuite.AnyFunSuite

class ConfListSuite extends AnyFunSuite {

  test("the plugin's class is added once, at the end of the user's class list") {
    assert(ConfList.appended(None, "x.Ours") == "x.Ours")
    assert(ConfList.appended(Some("a.B, c.D"), "x.Ours") == "a.B,c.D,x.Ours")
    assert(ConfList.appended(Some("x.Ours,a.B"), "x.Ours") == "a.B,x.Ours")
    assert(ConfList.appended(Some(" , "), "x.Ours") == "x.Ours")
  }

  test("a class is put at the end of a list of Spark's conf, but before those that must come later") {
    assert(ConfList.appended(Some("a.B,e.Engine,c.D"), "x.Ours", Seq("e.Engine")) == "a.B,x.Ours,e.Engine,c.D")
    assert(ConfList.appended(Some("e.Engine,x.Ours"), "x.Ours", Seq("e.Engine")) == "x.Ours,e.Engine")
    assert(ConfList.appended(Some("a.B"), "x.Ours", Seq("e.Engine")) == "a.B,x.Ours")
  }
}
