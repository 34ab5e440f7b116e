package io.aqeplugin.conf

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class CanarySuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val PassRate = AqeConf.FilterMaxPassRate.key
  private val Share = AqeConf.CanaryShare.key
  private val SetPassRate = Canary.SetPrefix + "filter.maxPassRate"
  private val ReplacesPassRate = Canary.ReplacesPrefix + "filter.maxPassRate"

  private def read(pairs: (String, String)*): Either[String, Option[Canary]] = Canary.read(pairs.toMap)

  private def canary(pairs: (String, String)*): Canary = read(pairs: _*).fold(fail(_), _.getOrElse(fail("no canary")))

  private val ids = (0 until 10000).map(number => f"application_1763712000000_$number%04d")

  test("the position of an application is that of the shared vectors") {
    val file = new String(Files.readAllBytes(Paths.get("tests", "vectors", "canary", "positions.json")), UTF_8)
    val vectors = new ObjectMapper().readTree(file).get("vectors").asScala.toSeq
    assert(vectors.size >= 5)
    vectors.foreach { vector =>
      assert(Canary.position(vector.get("application").textValue) == vector.get("position").doubleValue, vector)
    }
  }

  Seq(0.01, 0.1, 0.5, 0.9).foreach { share =>
    test(s"a share of $share selects that share of 10,000 applications with successive ids") {
      val drawn = ids.count(canary(Share -> share.toString, SetPassRate -> "0.5").draws)
      assert(math.abs(drawn - share * ids.size) <= 5 * math.sqrt(share * (1 - share) * ids.size))
    }
  }

  test("an application stays in the canary when the share grows, and all are in at 1") {
    forAll(Gen.alphaNumStr, Gen.choose(0.001, 1.0), Gen.choose(0.001, 1.0)) { (id, one, other) =>
      def draws(share: Double): Boolean = Canary(share, Nil).draws(id)
      assert(draws(math.max(one, other)) || !draws(math.min(one, other)))
      assert(draws(1.0))
    }
  }

  test("without a share or without values there is no canary") {
    assert(read() == Right(None))
    assert(read(SetPassRate -> "0.5") == Right(None))
    assert(read(Share -> "0", SetPassRate -> "0.5") == Right(None))
    assert(read(Share -> "0.5") == Right(None))
  }

  private val unusable = Seq(
    Seq(Share -> "1.5", SetPassRate -> "0.5") -> s"Bad value for $Share: '1.5'. Allowed: 0 to 1.",
    Seq(Share -> "0.5", SetPassRate -> "2") -> s"Bad value for $SetPassRate: '2'. Allowed: 0 to 1.",
    Seq(Share -> "0.5", SetPassRate -> "0.5", ReplacesPassRate -> "x") -> s"Bad value for $ReplacesPassRate: 'x'. Allowed: 0 to 1.",
    Seq(Share -> "0.5", s"${SetPassRate}s" -> "0.5") -> s"${SetPassRate}s: ${PassRate}s is not a key that a session may set.",
    Seq(s"${Canary.SetPrefix}decisions.keptQueries" -> "1") ->
      s"${Canary.SetPrefix}decisions.keptQueries: ${AqeConf.DecisionsKeptQueries.key} is not a key that a session may set.",
    Seq(s"${Canary.SetPrefix}canary.share" -> "1") -> s"${Canary.SetPrefix}canary.share: $Share is not a key that a session may set.",
    Seq(ReplacesPassRate -> "0.5") -> s"$ReplacesPassRate is set without $SetPassRate.",
    Seq(s"${Canary.Prefix}shares" -> "0.5") -> s"${Canary.Prefix}shares is not a key of the plugin."
  )

  unusable.foreach { case (pairs, why) =>
    test(s"one bad key discards the whole canary: $why") {
      assert(read((Canary.SetPrefix + "wait.maxIdle" -> "5") +: pairs: _*) == Left(why))
    }
  }

  test("a bad canary share does not fail queries") {
    assert(AqeConf.read(Map(Share -> "2").get) == Right(Settings.Default))
  }

  test("a canary value replaces the general value but not the user's own") {
    val unset = canary(Share -> "1", SetPassRate -> "0.5")
    assert(unset.assigned(Map.empty[String, String].get) == Seq(PassRate -> "0.5"))
    assert(unset.assigned(Map(PassRate -> "0.7").get) == Nil)
    val replacing = canary(Share -> "1", SetPassRate -> "0.5", ReplacesPassRate -> "0.70")
    assert(replacing.assigned(Map(PassRate -> "0.7").get) == Seq(PassRate -> "0.5"), "the same value, written otherwise")
    assert(replacing.assigned(Map(PassRate -> "0.6").get) == Nil)
    assert(replacing.assigned(Map.empty[String, String].get) == Nil)
  }

  test("a query is in an arm only if it has all values of that arm") {
    val all = canary(Share -> "1", SetPassRate -> "0.5", ReplacesPassRate -> "0.7", Canary.SetPrefix + "wait.maxIdle" -> "5")
    val one = all.copy(share = Double.MinPositiveValue)
    def conf(pairs: (String, String)*): String => Option[String] = pairs.toMap.get
    val idle = AqeConf.WaitMaxIdle.key
    assert(all.arm("a", conf(PassRate -> "0.5", idle -> "5")) == TrialArm.Canary)
    assert(one.arm("a", conf(PassRate -> "0.7")) == TrialArm.Control)
    assert(all.arm("a", conf(PassRate -> "0.5", idle -> "6")) == TrialArm.Own)
    assert(all.arm("a", conf(PassRate -> "0.5")) == TrialArm.Own)
    assert(one.arm("a", conf()) == TrialArm.Own)
    assert(one.arm("a", conf(PassRate -> "0.7", idle -> "5")) == TrialArm.Own)
  }
}
