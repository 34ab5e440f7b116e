package io.aqeplugin.e2e

import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.{Success, TaskContext}
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.tell.QueryEnded

/** What joins cost when tasks fail and are tried again. */
class RetriedWorkSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.master" -> "local[2,4]")

  private val succeededMillis = new LongAdder()

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 5000 AS k, id AS v, repeat('x', 20) AS pad FROM range(100000)", files = 2)
    table("every", "SELECT id AS dk, 'd' || id AS name FROM range(5000)")
    spark.sparkContext.addSparkListener(new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
        if (end.reason == Success) succeededMillis.add(end.taskMetrics.executorRunTime)
    })
    val _ = spark.udf.register("fails_first", RetriedWorkSuite.FailsFirst)
  }

  private def costs(query: String): Seq[JsonNode] = {
    drain()
    succeededMillis.reset()
    val found = withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(ran(spark.sql(query)))
    found.ended.collect { case end: QueryEnded => end.joinCosts.elements.asScala }.flatten
  }

  private val Join = "JOIN every ON k = dk AND dk % 50 = 0"

  test("a task that failed is none of a join's cost, as its scan's time is not known") {
    val all = withConf("spark.aqePlugin.test.openGates" -> "true")(costs(s"SELECT * FROM (SELECT k, fails_first(v) AS v FROM fact) $Join"))
    assert(all.nonEmpty && all.forall(_.get("unmeasured").isNull), all)
    assert(all.map(_.get("taskMillis").doubleValue).sum <= succeededMillis.sum + 1e-6, all)
  }
}

private object RetriedWorkSuite {
  private val FailingMillis = 2000L

  // A lambda of the suite could not be serialized.
  val FailsFirst: Long => Long = value => {
    if (TaskContext.get().attemptNumber() == 0) {
      Thread.sleep(FailingMillis)
      throw new IllegalStateException("fails the first time")
    }
    value
  }
}
