package io.aqeplugin.e2e

import scala.util.{Failure, Success, Try}

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.DataFrame
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** Queries whose build side fails while a probe side waits for it: the error is the one that Spark alone gives. */
class BuildErrorsSuite extends AnyFunSuite with PluginSession {

  /** An error of both copies of a build side comes in most runs, not in all. */
  private val Runs = 12

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("f", "SELECT id % 10 AS k, id AS v FROM range(1000)")
    // Of a condition on the key, Spark infers the same for the probe side, which then fails too.
    table("d", "SELECT id AS k, id AS x, cast(id AS STRING) || if(id = 5, 'x', '') AS text FROM range(10)")
    table("e", "SELECT id AS k, id % 3 AS g FROM range(10)")
    val _ = spark.udf.register("broken", (k: Long) => if (k == 5) throw new IllegalStateException("broken") else k)
  }

  /** The class and the condition of an error, and those of its causes that Spark names. */
  private def kind(error: Throwable): Seq[String] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).map {
      case known: SparkThrowable => s"${known.getClass.getName} ${known.getCondition}"
      case other                 => other.getClass.getName
    }.toSeq

  private def errorOf(query: => DataFrame): Seq[String] = Try(query.collect()) match {
    case Failure(error) => kind(error)
    case Success(rows)  => fail(s"${rows.length} rows instead of an error")
  }

  private def sameError(query: => DataFrame, conf: (String, String)*): Assertion =
    withConf(("spark.sql.autoBroadcastJoinThreshold" -> "-1") +: conf: _*) {
      val alone = withConf("spark.aqePlugin.mode" -> "off")(errorOf(query))
      assert(!alone.exists(_.contains("MULTIPLE_FAILURES")), "Spark alone is not sure of the error")
      val seen = withConf("spark.aqePlugin.test.openGates" -> "true")((1 to Runs).map(_ => errorOf(query)))
      assert(seen.distinct == Seq(alone))
    }

  private def joined(build: String): DataFrame = spark.sql(s"SELECT f.k FROM f JOIN ($build) d ON f.k = d.k")

  for (
    (what, build) <- Seq(
      "a division by zero" -> "SELECT k FROM d WHERE 10 DIV (x - 5) > 0",
      "a cast" -> "SELECT k FROM d WHERE cast(text AS INT) >= 0",
      "raise_error" -> "SELECT if(x = 5, raise_error('no'), k) AS k FROM d",
      "a user's function" -> "SELECT broken(x) AS k FROM d",
      "an aggregate" -> "SELECT k FROM d GROUP BY k HAVING sum(10 DIV (x - 5)) > -100"
    )
  ) test(s"an error of a build side stays as it is: $what")(sameError(joined(build)))

  test("so does that of a build side below the build side of another join, of each join type") {
    val inner = "SELECT e.k FROM e JOIN (SELECT k FROM d WHERE 10 DIV (x - 5) > 0) d ON e.k = d.k WHERE g < 2"
    val _ = sameError(joined(inner))
    val _ = Seq("LEFT SEMI", "RIGHT OUTER").map { join =>
      sameError(spark.sql(s"SELECT f.v FROM f $join JOIN (SELECT k FROM d WHERE 10 DIV (x - 5) > 0) d ON f.k = d.k"))
    }
  }

  test("so does that of a build side that is broadcast") {
    sameError(spark.sql("SELECT /*+ BROADCAST(d) */ f.k FROM f JOIN (SELECT k FROM d WHERE 10 DIV (x - 5) > 0) d ON f.k = d.k"))
  }

  test("so does that of a build side that starts when other stages have ended") {
    sameError(joined("SELECT k FROM (SELECT k, count(*) AS n FROM d GROUP BY k) WHERE 10 DIV (n - 1) > 0"))
  }

  test("so does that of a build side which a subquery of the query shares") {
    val build = "SELECT k FROM d WHERE 10 DIV (x - 5) > 0"
    sameError(spark.sql(s"""WITH j AS (SELECT f.k, f.v FROM f JOIN ($build) d ON f.k = d.k)
         |SELECT k, sum(v) AS s FROM j GROUP BY k HAVING sum(v) > (SELECT avg(v) FROM j)""".stripMargin))
  }

  test("so does that of a frame that was explained before") {
    sameError {
      val frame = joined("SELECT k FROM d WHERE 10 DIV (x - 5) > 0")
      val _ = frame.queryExecution.executedPlan
      frame
    }
  }

  test("so does that of a query that runs outside of an execution") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      def error: Seq[String] = kind(Try(joined("SELECT k FROM d WHERE 10 DIV (x - 5) > 0").rdd.count()).failed.get)
      val alone = withConf("spark.aqePlugin.mode" -> "off")(error)
      assert(withConf("spark.aqePlugin.test.openGates" -> "true")((1 to Runs).map(_ => error)).distinct == Seq(alone))
    }
  }
}
