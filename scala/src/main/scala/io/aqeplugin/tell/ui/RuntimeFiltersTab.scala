package io.aqeplugin.tell.ui

import scala.jdk.OptionConverters._
import scala.xml.Node

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.scheduler.SparkListener
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.execution.ui.SQLExecutionUIData
import org.apache.spark.ui.aqeplugin.{PageRequest, TabHost, TabPage}
import org.apache.spark.util.kvstore.KVStore
import org.slf4j.LoggerFactory

import io.aqeplugin.SparkLine

/** The tab "Runtime filters" of Spark's UI. In a running application and in the History Server, the same listener fills the same store and
  * the same pages read it. Every caller uses [[TabGuard]].
  */
object RuntimeFiltersTab {
  private val log = LoggerFactory.getLogger("io.aqeplugin")

  /** To the right of the SQL tab. */
  val DisplayOrder = 1
  val Prefix = "runtime-filters"
  private val QueryPath = "query"

  /** Adds the tab to the UI of a starting application, if it has a UI. */
  def attachLive(sparkContext: SparkContext): Unit = TabHost.live(sparkContext).foreach { host =>
    attach(host)
    SparkBridge.addStatusListener(sparkContext, new TabListener(host.store, SparkBridge.retainedExecutions(sparkContext.getConf)))
  }

  /** The listener that reads our events from an event log; none, with a warning, in a History Server of another Spark line. */
  def replayListener(sparkVersion: String, conf: SparkConf, store: KVStore): Option[SparkListener] =
    SparkLine.mismatch(sparkVersion, SparkLine.versionOfScala()).toScala match {
      case Some(warning) =>
        log.warn(warning)
        None
      case None => Some(new TabListener(store, SparkBridge.retainedExecutions(conf)))
    }

  /** Adds the tab to a UI of the History Server if the application's log has something to show. */
  def attachWhereFilled(host: TabHost): Unit = if (new TabStore(host.store).totals.nonEmpty) attach(host)

  private def attach(host: TabHost): Unit = host.attach(
    Prefix,
    "Runtime filters",
    DisplayOrder,
    Seq(
      TabPage("", _ => "Runtime filters", guarded(request => QueriesView.render(queries(host, request), new Links(request.link)))),
      TabPage(QueryPath, title, guarded(request => QueryView.render(query(host, request), new Links(request.link))))
    )
  )

  private def guarded(content: PageRequest => Seq[Node])(request: PageRequest): Seq[Node] =
    TabGuard.orElse(Html.alert("This page could not be rendered. See the log of the driver or the History Server."))(content(request))

  private def queries(host: TabHost, request: PageRequest): QueriesView.Model = {
    val store = new TabStore(host.store)
    val page = Paging.of(request.parameter("page"), store.count)
    QueriesView.Model(store.totals, page, store.newest(page).map(row => QueriesView.Line(row, execution(host, row.executionId))))
  }

  private def title(request: PageRequest): String =
    queryId(request).fold("Runtime filters of a query")(id => s"Runtime filters of query $id")

  private def query(host: TabHost, request: PageRequest): Either[String, QueryView.Model] = for {
    id <- queryId(request).toRight("The address names no query. It must end in ?id= and the query's number.")
    story <- new TabStore(host.store).query(id)
  } yield QueryView.Model(story, execution(host, id))

  private def queryId(request: PageRequest): Option[Long] = request.parameter("id").flatMap(_.toLongOption)

  private def execution(host: TabHost, id: Long): Option[Execution] = host.execution(id).map { (data: SQLExecutionUIData) =>
    Execution(Option(data.description).getOrElse(""), data.submissionTime, data.executionStatus)
  }
}

/** The SQL tab's record of a query.
  *
  * @param status
  *   `RUNNING`, `COMPLETED` or `FAILED`
  */
final case class Execution(description: String, submittedMillis: Long, status: String)

/** Addresses within the UI of one application. */
final class Links(link: String => String) {
  def queries(page: Int): String = link(s"/${RuntimeFiltersTab.Prefix}/?page=$page")
  def query(executionId: Long): String = link(s"/${RuntimeFiltersTab.Prefix}/query/?id=$executionId")
  def execution(executionId: Long): String = link(s"/SQL/execution/?id=$executionId")
}
