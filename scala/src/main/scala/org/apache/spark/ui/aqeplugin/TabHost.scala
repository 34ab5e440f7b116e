package org.apache.spark.ui.aqeplugin

import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest
import org.apache.spark.SparkContext
import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.execution.ui.{SQLAppStatusStore, SQLExecutionUIData}
import org.apache.spark.ui.{SparkUI, SparkUITab, UIUtils, WebUIPage}
import org.apache.spark.util.kvstore.KVStore

/** The UI of one application, live or in the History Server, for a tab made of functions. Like [[Formats]], it only opens members that are
  * private to Spark's UI.
  */
final class TabHost private[aqeplugin] (ui: SparkUI) {

  /** The store of the UI's data. */
  def store: KVStore = ui.store.store

  /** The SQL tab's data of an execution. */
  def execution(id: Long): Option[SQLExecutionUIData] = new SQLAppStatusStore(store).execution(id)

  def attach(prefix: String, name: String, displayOrder: Int, pages: Seq[TabPage]): Unit =
    ui.attachTab(new FunctionTab(ui, prefix, name, displayOrder, pages))
}

object TabHost {

  /** The UI of a running application, if it has one. */
  def live(sparkContext: SparkContext): Option[TabHost] = sparkContext.ui.map(new TabHost(_))
}

/** A page of a tab.
  *
  * @param path
  *   relative to the tab's path; empty for the tab's first page
  * @param title
  *   the heading above the content
  */
final case class TabPage(path: String, title: PageRequest => String, content: PageRequest => Seq[Node])

/** A request for a page. */
final class PageRequest private[aqeplugin] (request: HttpServletRequest, basePath: String) {
  def parameter(name: String): Option[String] = Option(request.getParameter(name))

  /** The address of `path`, which begins with `/`, in the same application's UI. */
  def link(path: String): String = UIUtils.prependBaseUri(request, basePath, path)
}

/** Formats values as the rest of Spark's UI does. */
object Formats {
  val TableClass: String = UIUtils.TABLE_CLASS_STRIPED

  def date(epochMillis: Long): String = UIUtils.formatDate(epochMillis)
  def duration(millis: Long): String = UIUtils.formatDuration(millis)
}

private final class FunctionTab(ui: SparkUI, prefix: String, override val name: String, override val displayOrder: Int, shown: Seq[TabPage])
    extends SparkUITab(ui, prefix) {
  shown.foreach(page => attachPage(new FunctionPage(this, page)))
}

private final class FunctionPage(tab: SparkUITab, page: TabPage) extends WebUIPage(page.path) {
  override def render(request: HttpServletRequest): Seq[Node] = {
    val asked = new PageRequest(request, tab.basePath)
    ThisSparkLine.page(request, page.title(asked), page.content(asked), tab)
  }
}
