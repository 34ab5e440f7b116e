package io.aqeplugin.conf

import org.scalatest.funsuite.AnyFunSuite

class AqeConfSuite extends AnyFunSuite {

  private def read(pairs: (String, String)*): Either[ConfError, Settings] = AqeConf.read(pairs.toMap.get)

  test("without settings, every key has its default") {
    assert(read() == Right(Settings.Default))
    AqeConf.All.foreach(entry => assert(Settings.Default(entry) == entry.default))
  }

  test("every default is allowed and is parsed from its own text") {
    AqeConf.All.foreach(entry => assert(entry.parse(entry.defaultText) == Right(entry.default), entry.key))
  }

  test("keys are unique, share the prefix and have a sentence as documentation") {
    assert(AqeConf.All.map(_.key).distinct.size == AqeConf.All.size)
    AqeConf.All.foreach { entry =>
      assert(entry.key.startsWith(AqeConf.Prefix))
      assert(entry.doc.endsWith("."), entry.key)
      assert(!entry.doc.contains("|"), "would break the table of the documentation")
    }
  }

  test("the error of a bad value names the key, the value and the allowed values") {
    val error = read(AqeConf.FilterMaxPassRate.key -> "1.5").left.map(_.message)
    assert(error == Left("Bad value for spark.aqePlugin.filter.maxPassRate: '1.5'. Allowed: 0 to 1."))
    assert(read(AqeConf.ModeKey.key -> "on").left.map(_.message) == Left(
      "Bad value for spark.aqePlugin.mode: 'on'. Allowed: one of off, observe, apply."
    ))
    assert(
      read(AqeConf.FilterMaxBytes.key -> "2g").left.map(_.message) == Left(
        "Bad value for spark.aqePlugin.filter.maxBytes: '2g'. Allowed: 1k to 1g."
      )
    )
  }

  Seq("", "x", "NaN", "Infinity", "-1", "1e400").foreach { text =>
    test(s"'$text' is rejected as a pass rate") {
      assert(read(AqeConf.FilterMaxPassRate.key -> text).isLeft)
    }
  }

  test("sizes may have suffixes, and a size above 64 bits is rejected") {
    assert(read(AqeConf.BroadcastMaxMemoryBytes.key -> "64 MB").map(_(AqeConf.BroadcastMaxMemoryBytes)) == Right(64L << 20))
    assert(read(AqeConf.BroadcastMaxMemoryBytes.key -> "1024").map(_(AqeConf.BroadcastMaxMemoryBytes)) == Right(1024L))
    assert(read(AqeConf.BroadcastMaxMemoryBytes.key -> "9999999999t").isLeft)
    assert(read(AqeConf.BroadcastMaxMemoryBytes.key -> "99999999999999999999").isLeft)
  }

  test("names and switches ignore case and surrounding blanks") {
    assert(read(AqeConf.ModeKey.key -> " Observe ").map(_.mode) == Right(Mode.Observe))
    assert(read(AqeConf.TestOpenGates.key -> "TRUE").map(_(AqeConf.TestOpenGates)) == Right(true))
  }

  test("both ends of a range are allowed") {
    assert(read(AqeConf.FilterMaxPerScan.key -> "1").isRight)
    assert(read(AqeConf.FilterMaxPerScan.key -> "64").isRight)
    assert(read(AqeConf.FilterMaxPerScan.key -> "0").isLeft)
    assert(read(AqeConf.FilterMaxPerScan.key -> "65").isLeft)
  }
}
