package org.apache.spark.ui.aqeplugin

import java.net.{URI, URLClassLoader}
import java.net.http.{HttpClient, HttpRequest, HttpResponse}

import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.DriverPlugin
import org.apache.spark.sql.execution.ui.SQLAppStatusStore
import org.apache.spark.ui.{SparkUITab, WebUIPage}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.AqePlugin
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.plugin.AqeDriverPlugin
import io.aqeplugin.tell.ui.Paging

/** The tab of a running application, requested as a browser does. */
class LiveTabSuite extends AnyFunSuite with PluginSession {
  import LiveTabSuite._

  override protected def applicationConf: Map[String, String] =
    Map("spark.ui.enabled" -> "true", "spark.ui.port" -> "0", "spark.sql.ui.retainedExecutions" -> "10")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v FROM range(300)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id AS int) AS dv FROM range(4)")
  }

  private def context: SparkContext = spark.sparkContext
  private def ui = context.ui.getOrElse(fail("the application has no UI"))

  private def get(path: String): (Int, String) = {
    val request = HttpRequest.newBuilder(URI.create(s"http://127.0.0.1:${ui.boundPort}$path")).build()
    val response =
      HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build().send(request, HttpResponse.BodyHandlers.ofString())
    response.statusCode -> response.body
  }

  private val Query = "SELECT * FROM fact JOIN dim ON k = dk"

  private def latest: Long = {
    val executions = new SQLAppStatusStore(ui.store.store).executionsList()
    executions.map(_.executionId).max
  }

  private def filteredQuery(): Unit = {
    context.setJobDescription("a join of <fact> & dim")
    try withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        val _ = sameRows(spark.sql(Query))
      }
    finally context.setJobDescription(Option.empty[String].orNull)
    drain()
  }

  test("the tab is next to the SQL tab and lists the query with its filter") {
    filteredQuery()
    val (status, page) = get("/runtime-filters/")
    assert(status == 200)
    assert(page.contains("<h3") && page.contains("Runtime filters"))
    assert(page.contains(s"/runtime-filters/query/?id=$latest") && page.contains(s"/SQL/execution/?id=$latest"))
    assert(page.contains("a join of &lt;fact&gt; &amp; dim"))
    val (_, jobs) = get("/jobs/")
    assert(jobs.indexOf(">SQL / DataFrame<") < jobs.indexOf(">Runtime filters<") && jobs.contains(">Runtime filters<"))
  }

  test("the page of a query shows its join, reasons and filter, with a link to SQL") {
    filteredQuery()
    val (status, page) = get(s"/runtime-filters/query/?id=$latest")
    assert(status == 200)
    Seq("inner join on", "GATES_OPEN", "1 of 1 applied", "join-1-options", "join-1-filters", "(k)</td>").foreach { part =>
      assert(page.contains(part), part)
    }
    assert(get(s"/SQL/execution/?id=$latest")._1 == 200)
  }

  test("an address without a valid query shows a message") {
    Seq("", "?id=", "?id=x", "?id=99999", "?id=%3Cscript%3E").foreach { query =>
      val (status, page) = get(s"/runtime-filters/query/$query")
      assert(status == 200 && page.contains("role=\"alert\""), query)
      assert(!page.contains("<script>\""), query)
    }
  }

  test("the tab keeps no more queries than the SQL tab") {
    (1 to 11).foreach(_ => withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(spark.sql(Query).collect()))
    drain()
    val store = new io.aqeplugin.tell.ui.TabStore(ui.store.store)
    assert(store.count == 9 || store.count == 10)
    assert(store.newest(Paging.of(None, store.count)).map(_.executionId).contains(latest))
    assert(store.totals.queries > 10)
  }

  test("missing or changed UI classes cost only the tab") {
    val tabs = ui.getTabs.map(_.name)
    val loader = new WithoutUiClasses
    val lost = loader.loadClass(classOf[AqeDriverPlugin].getName).getConstructor().newInstance().asInstanceOf[DriverPlugin]
    assert(lost.getClass ne classOf[AqeDriverPlugin])
    lost.init(context, Option.empty[org.apache.spark.api.plugin.PluginContext].orNull)
    val faults = loader.loadClass("io.aqeplugin.metrics.Faults")
    assert(faults.getMethod("count").invoke(Option.empty[AnyRef].orNull) == Long.box(1L))
    assert(ui.getTabs.map(_.name) == tabs)
    filteredQuery()
  }
}

object LiveTabSuite {

  /** The classes that build pages in the Spark with which the plugin was built. */
  private val Missing = Seq("jakarta.servlet.", classOf[SparkUITab].getName, classOf[WebUIPage].getName)

  /** Loads the plugin's classes again without some classes of Spark's UI. */
  private final class WithoutUiClasses extends URLClassLoader(ownFolders, classOf[AqePlugin].getClassLoader) {
    override def loadClass(name: String, resolve: Boolean): Class[_] = getClassLoadingLock(name).synchronized {
      if (Missing.exists(name.startsWith)) throw new ClassNotFoundException(name)
      else if (name.startsWith("io.aqeplugin.") || name.contains(".aqeplugin.")) Option(findLoadedClass(name)).getOrElse(findClass(name))
      else super.loadClass(name, resolve)
    }
  }

  private def ownFolders = Array(classOf[AqePlugin].getProtectionDomain.getCodeSource.getLocation)
}
