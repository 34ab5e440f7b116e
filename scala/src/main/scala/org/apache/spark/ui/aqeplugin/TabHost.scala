package org.apache.spark.ui.aqeplugin

import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest
import org.apache.spark.SparkContext
import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.execution.ui.{SQLAppStatusStore, SQLExecutionUIData}
import org.apache.spark.ui.{SparkUI, SparkUITab, UIUtils, WebUIPage}
import org.apache.spark.util.kvstore.KVStore

/** The UI of one application, live or in the History Server, for a tab that is made of functions. Like [[Formats]], only what is private to
  * Spark's UI.
  */
final class TabHost private[aqeplugin] (ui: SparkUI) {

  /** Where Spark keeps what the UI shows. */
  def store: KVStore = ui.store.store

  /** What the SQL tab knows of an execution. */
  def execution(id: Long): Option[SQLExecutionUIData] = new SQLAppStatusStore(store).execution(id)

  def attach(prefix: String, name: String, displayOrder: Int, pages: Seq[TabPage]): Unit =
    ui.attachTab(new FunctionTab(ui, prefix, name, displayOrder, pages))
}

object TabHost {

  /** The UI of an application that runs; none when it has none. */
  def live(sparkContext: SparkContext): Option[TabHost] = sparkContext.ui.map(new TabHost(_))
}

/** A page of a tab.
  *
  * @param path
  *   below the tab's own, empty for the page that the tab opens with
  * @param title
  *   what stands above the content
  */
final case class TabPage(path: String, title: PageRequest => String, content: PageRequest => Seq[Node])

/** What a page was asked for. */
final class PageRequest private[aqeplugin] (request: HttpServletRequest, basePath: String) {
  def parameter(name: String): Option[String] = Option(request.getParameter(name))

  /** The address of a place within the same application's UI, `path` beginning with `/`. */
  def link(path: String): String = UIUtils.prependBaseUri(request, basePath, path)
}

/** Values as the rest of Spark's UI writes them. */
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
