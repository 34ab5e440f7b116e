package io.aqeplugin

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.scalatest.funsuite.AnyFunSuite

class SparkLineSuite extends AnyFunSuite {

  test("the line of a version is its first two numbers") {
    assert(SparkLine.of("4.1.3") == "4.1")
    assert(SparkLine.of("4.2.0-preview1") == "4.2")
    assert(SparkLine.of("3.5.7-amzn-0") == "3.5")
  }

  test("the jar's own line is supported and fits the running Spark") {
    assert(SparkLine.SUPPORTED.contains(CompiledLine.SPARK))
    assert(!SparkLine.mismatch(s"${CompiledLine.SPARK}.9", s"${CompiledLine.SCALA}.1").isPresent)
  }

  test("for another supported line, the message names both lines and the right jar") {
    val message = SparkLine.mismatch("4.0.2", "2.13.16", "4.1", "2.13").toScala.getOrElse(fail("no message"))
    assert(message.contains("for Spark 4.1") && message.contains("Spark 4.0.2") && message.contains("path jar --spark 4.0"))
    assert(message.contains("is inactive"))
  }

  test("for an unknown line, the message lists the supported lines") {
    val message = SparkLine.mismatch("5.0.0", "2.13.16").toScala.getOrElse(fail("no message"))
    assert(SparkLine.SUPPORTED.asScala.forall(message.contains(_)))
    assert(message.contains("5.0.0 is not supported") && message.contains("is inactive"))
  }

  test("for another Scala version, the message names both versions") {
    val message = SparkLine.mismatch("4.1.3", "2.12.18", "4.1", "2.13").toScala.getOrElse(fail("no message"))
    assert(message.contains("for Scala 2.13") && message.contains("runs on Scala 2.12.18") && message.contains("is inactive"))
  }

  test("a malformed version belongs to no supported line") {
    assert(SparkLine.of("") == "" && SparkLine.of("snapshot") == "snapshot")
  }
}
