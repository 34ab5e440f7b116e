package io.aqeplugin.logs

import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.funsuite.AnyFunSuite

class KeptMembersSuite extends AnyFunSuite {

  private val members = Set("executionId", "description", "time")

  private def kept(line: String): Option[String] = KeptMembers.of(line.getBytes(UTF_8), members)

  test("requested members of an event are kept, and nested ones are not") {
    val line =
      """{"Event":"E","executionId":7,"plan":{"time":1,"children":[{"description":"no"}]},"description":"é \"q\" \n","time":null}"""
    assert(kept(line).contains("""{"executionId":7,"description":"é \"q\" \n","time":null}"""))
    assert(kept("""{"Event":"E"}""").contains("{}"))
    assert(kept("""{"time":{"a":[1]}}""" + "\r").contains("""{"time":{"a":[1]}}"""))
  }

  test("a plan of any depth and length is read") {
    val deep = "[" * 100000 + "]" * 100000
    val long = "x" * 30000000
    assert(kept(s"""{"plan":$deep,"text":"$long","time":3}""").contains("""{"time":3}"""))
  }

  test("an incomplete object gives no event") {
    for (line <- Seq("", "{", """{"time":3""", """{"time":3,"plan":{"a":""", "[]", "7", """{"time":}""", "\u0000"))
      assert(kept(line).isEmpty, line)
  }
}
