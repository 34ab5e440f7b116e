package io.aqeplugin.logs

import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.funsuite.AnyFunSuite

class KeptMembersSuite extends AnyFunSuite {

  private val members = Set("executionId", "description", "time")

  private def kept(line: String): Option[String] = KeptMembers.of(line.getBytes(UTF_8), members)

  test("of an event the members that are asked for are kept as they are, and those of its members are not taken for them") {
    val line =
      """{"Event":"E","executionId":7,"plan":{"time":1,"children":[{"description":"no"}]},"description":"é \"q\" \n","time":null}"""
    assert(kept(line).contains("""{"executionId":7,"description":"é \"q\" \n","time":null}"""))
    assert(kept("""{"Event":"E"}""").contains("{}"))
    assert(kept("""{"time":{"a":[1]}}""" + "\r").contains("""{"time":{"a":[1]}}"""))
  }

  test("a plan may be as deep and as long as it likes") {
    val deep = "[" * 100000 + "]" * 100000
    val long = "x" * 30000000
    assert(kept(s"""{"plan":$deep,"text":"$long","time":3}""").contains("""{"time":3}"""))
  }

  test("of a line that is no whole object there is nothing") {
    for (line <- Seq("", "{", """{"time":3""", """{"time":3,"plan":{"a":""", "[]", "7", """{"time":}""", "\u0000"))
      assert(kept(line).isEmpty, line)
  }
}
