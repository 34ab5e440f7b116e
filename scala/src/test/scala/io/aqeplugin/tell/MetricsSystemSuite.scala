package io.aqeplugin.tell

import java.lang.management.ManagementFactory
import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import javax.management.ObjectName

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.exec.ExecutorMetrics
import io.aqeplugin.metrics.Faults

/** The plugin's metrics as Spark exports them: over HTTP in Prometheus' format, and over JMX. */
class MetricsSystemSuite extends AnyFunSuite with PluginSession {
  private val Namespace = "sales_jobs"
  private val Names = (DecisionMetrics.All ++ ExecutorMetrics.All).flatMap(_.metrics).map(_._1)

  override protected def applicationConf: Map[String, String] = Map(
    "spark.ui.enabled" -> "true",
    "spark.ui.port" -> "0",
    "spark.driver.host" -> "127.0.0.1",
    "spark.metrics.namespace" -> Namespace,
    "spark.metrics.conf.*.sink.prometheusServlet.class" -> "org.apache.spark.metrics.sink.PrometheusServlet",
    "spark.metrics.conf.*.sink.prometheusServlet.path" -> "/metrics/prometheus",
    "spark.metrics.conf.*.sink.jmx.class" -> "org.apache.spark.metrics.sink.JmxSink",
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    AqeConf.TestOpenGates.key -> "true"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v FROM range(3000)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id AS int) AS dv FROM range(4)")
  }

  /** Every sample of the driver's endpoint by its name. */
  private def scrape(): Map[String, Double] = {
    val port = spark.sparkContext.uiWebUrl.map(url => URI.create(url).getPort).getOrElse(fail("there is no UI"))
    val request = HttpRequest.newBuilder(URI.create(s"http://127.0.0.1:$port/metrics/prometheus/")).build()
    val response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString())
    assert(response.statusCode == 200)
    val samples = for {
      line <- response.body.linesIterator
      parts = line.split("[{ ]")
      value <- parts.last.toDoubleOption
    } yield parts.head -> value
    samples.toMap
  }

  private def sample(name: String): String =
    s"metrics_${Namespace}_driver_plugin_io_aqeplugin_AqePlugin_${name.replaceAll("[^a-zA-Z0-9]", "_")}_"

  /** The growth of each metric while `body` runs. */
  private def growth(body: => Any): String => Double = {
    drain()
    val before = scrape()
    val _ = body
    drain()
    val after = scrape()
    name => after(s"${sample(name)}Count") - before(s"${sample(name)}Count")
  }

  test("every metric of driver and executor exists from the start under its own name") {
    val samples = scrape().keySet
    assert(Names.filterNot(name => samples(s"${sample(name)}Count") || samples(s"${sample(name)}Value")).isEmpty)
    assert(Names.distinct.size == Names.size)
  }

  test("a filtered query is counted by its decision and by its filter's outcome") {
    var decided = Seq.empty[JoinDecided]
    val grown = growth { decided = ran(spark.sql("SELECT * FROM fact JOIN dim ON k = dk")).decided }
    val decision = DecisionJson.parse(decided.head.decision.toString).fold(fail(_), identity)
    val once = Seq(
      s"decisions.${decision.choice.name}",
      s"decisions.reason.${decision.reason.code.name}",
      s"filters.reason.${decision.filterReason.code.name}",
      "waits.begun",
      "filters.planned",
      "filters.applied",
      "queries.ended"
    )
    assert(once.map(name => name -> grown(name)).filter(_._2 != 1).isEmpty)
    assert(Seq("filters.rowsIn", "executor.filters.rowsIn").map(grown) == Seq(3000, 3000))
    assert(grown("filters.rowsOut") == grown("executor.filters.rowsOut") && grown("filters.rowsOut") < 300)
    assert(grown("executor.filters.decoded") >= 1)
    assert(grown("filters.bytes") > 0 && grown("executor.filters.decodedBytes") > 0)
    val faults = Seq("errors", "filters.notApplied", "queries.failed", "executor.filters.decodeFailures", "filters.passedAll.BUILD_FAILED")
    assert(faults.map(grown).forall(_ == 0))
  }

  test("a failed query is counted as failed and not as a fault of the plugin") {
    val grown = growth {
      withConf(
        "spark.sql.ansi.enabled" -> "true"
      )(intercept[Exception](spark.sql("SELECT 1 / (v - v) FROM fact JOIN dim ON k = dk").collect()))
    }
    assert(Seq("queries.ended", "queries.failed", "errors").map(grown) == Seq(1, 1, 0))
  }

  test("an invalid conf is counted as a fault, and nothing is decided") {
    val grown = growth(withConf(AqeConf.FilterMaxPassRate.key -> "7")(spark.sql("SELECT * FROM fact JOIN dim ON k = dk").collect()))
    assert(grown("errors") == 1)
    assert(Names.filter(_.startsWith("decisions.")).map(grown).sum == 0)
  }

  test("all metrics are available over JMX") {
    val server = ManagementFactory.getPlatformMBeanServer
    val beans = server.queryNames(new ObjectName("metrics:*"), null).asScala.map { bean =>
      bean.getKeyProperty("name").stripPrefix("\"").stripSuffix("\"") -> bean
    }.toMap
    val prefix = s"$Namespace.driver.plugin.io.aqeplugin.AqePlugin."
    assert(Names.filterNot(name => beans.contains(prefix + name)).isEmpty)
    assert(server.getAttribute(beans(s"${prefix}errors"), "Count") == Faults.count)
  }
}
