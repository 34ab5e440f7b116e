package io.aqeplugin.e2e

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.logging.log4j.Level
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.{AqeConf, Canary}
import io.aqeplugin.metrics.Faults
import io.aqeplugin.tell.{CapturedLog, JoinDecided, QueryEnded}

/** An application whose conf has a canary of half of the applications. */
abstract class TrialSuite(applicationId: String) extends AnyFunSuite with PluginSession {
  protected val Replaced: String = AqeConf.FilterMaxPassRate.key
  protected val OpenGates: String = AqeConf.TestOpenGates.key
  protected val Query = "SELECT * FROM fact JOIN dim ON k = dk"

  override protected def applicationConf: Map[String, String] = Map(
    "spark.test.appId" -> applicationId,
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    Replaced -> "0.7",
    AqeConf.CanaryShare.key -> "0.5",
    Canary.SetPrefix + "filter.maxPassRate" -> "0.9",
    Canary.ReplacesPrefix + "filter.maxPassRate" -> "0.7",
    Canary.SetPrefix + "test.openGates" -> "true"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v FROM range(300)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id AS int) AS dv FROM range(4)")
  }

  protected def armsOf(ran: Ran): Set[Option[String]] = {
    assert(ran.decided.nonEmpty && ran.ended.nonEmpty)
    val rows = spark.sql("SELECT arm FROM aqe_decisions() WHERE execution_id = " + ran.decided.head.executionId).collect()
    assert(rows.map(row => Option(row.getString(0))).toSet == ran.decided.map(_.arm).toSet)
    ran.decided.map(_.arm).toSet ++ ran.ended.map(_.arm)
  }
}

class DrawnSuite extends TrialSuite("application_1763712000000_0002") {

  test("sessions and events of a canary application have the canary values") {
    assert(spark.conf.get(Replaced) == "0.9")
    val result = ran(spark.sql(Query))
    assert(filtered(result).nonEmpty)
    assert(armsOf(result) == Set(Some("canary")))
    val other = spark.newSession()
    assert(other.conf.get(Replaced) == "0.9")
    assert(other.conf.get(OpenGates) == "true")
  }

  test("a user's own value wins, and the query is in the arm own") {
    val result = withConf(OpenGates -> "false")(ran(spark.sql(Query)))
    assert(filters(result.plan).isEmpty)
    assert(armsOf(result) == Set(Some("own")))
  }

  test("a session cannot change its arm by setting canary keys") {
    val result = withConf(AqeConf.CanaryShare.key -> "7", Canary.SetPrefix + "nothing" -> "1")(ran(spark.sql(Query)))
    assert(armsOf(result) == Set(Some("canary")))
  }

  test("the arm is read from an event log, and is empty in logs of older plugins") {
    def armOf[A](kind: Class[A], arm: String): A =
      new ObjectMapper().readValue(s"""{"Event":"${kind.getName}","executionId":1$arm}""", kind)
    assert(armOf(classOf[JoinDecided], ""","arm":"control"""").arm.contains("control"))
    assert(armOf(classOf[QueryEnded], ""","arm":"canary"""").arm.contains("canary"))
    assert(armOf(classOf[QueryEnded], ""","arm":null""").arm.isEmpty)
    assert(armOf(classOf[JoinDecided], "").arm.isEmpty)
  }
}

class NotDrawnSuite extends TrialSuite("spark-9f4c1c2de9c1497cbc35e3b7bd2d84e5") {

  test("an application outside the canary keeps its conf, and its events say so") {
    assert(spark.conf.get(Replaced) == "0.7")
    val result = ran(spark.sql(Query))
    assert(filters(result.plan).isEmpty)
    assert(armsOf(result) == Set(Some("control")))
    assert(armsOf(withConf(OpenGates -> "true")(ran(spark.sql(Query)))) == Set(Some("own")))
  }
}

/** The canary's conf is invalid: queries run as without it. */
class WrongCanarySuite extends TrialSuite("application_1763712000000_0002") {
  override protected def applicationConf: Map[String, String] = super.applicationConf.updated(Canary.SetPrefix + "filter.maxPassRate", "9")

  private lazy val warnings: Seq[String] = CapturedLog.during(Level.WARN)(spark)._1

  override protected def beforeAll(): Unit = {
    assert(warnings.nonEmpty)
    super.beforeAll()
  }

  test("an invalid canary gives one warning, no fault, and changes no query") {
    assert(warnings == Seq(
      "aqe-plugin: Bad value for spark.aqePlugin.canary.set.filter.maxPassRate: '9'. Allowed: 0 to 1. Until then the application tries nothing."
    ))
    val faults = Faults.count
    assert(spark.conf.get(Replaced) == "0.7")
    val result = ran(spark.sql(Query))
    assert(filters(result.plan).isEmpty)
    assert(armsOf(result) == Set(None))
    assert(Faults.count == faults)
  }
}
