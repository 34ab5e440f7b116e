package io.aqeplugin.conf

import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

class SessionConfSuite extends AnyFunSuite {

  private def conf(values: (String, String)*): SQLConf = {
    val made = new SQLConf
    values.foreach { case (key, value) => made.setConfString(key, value) }
    made
  }

  private def mode(conf: SQLConf): Either[ConfError, Mode] = SessionConf.read(conf).map(_.mode)

  test("a session that changes a key has the new value at once") {
    val changing = conf(AqeConf.ModeKey.key -> "observe")
    assert(mode(changing) == Right(Mode.Observe) && SessionConf.predicatesMode(changing) == Mode.Observe)
    changing.setConfString(AqeConf.ModeKey.key, "off")
    assert(mode(changing) == Right(Mode.Off) && SessionConf.isOff(changing))
    changing.unsetConf(AqeConf.ModeKey.key)
    assert(mode(changing) == Right(Mode.Apply) && !SessionConf.isOff(changing))
  }

  test("a value that is not allowed is an error, and switches off what is not decided by joins") {
    val wrong = conf(AqeConf.ModeKey.key -> "sometimes")
    assert(SessionConf.read(wrong).left.exists(_.key == AqeConf.ModeKey.key))
    assert(SessionConf.limitMode(wrong) == Mode.Off && !SessionConf.isOff(wrong))
  }

  test("keys that the plugin does not have are named, whatever their case") {
    assert(SessionConf.unknownKeys(conf("SPARK.aqeplugin.Mode" -> "off", AqeConf.ModeKey.key -> "off", "spark.other" -> "1")) ==
      Seq("SPARK.aqeplugin.Mode"))
  }
}
