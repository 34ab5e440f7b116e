package io.aqeplugin.observe

import java.util.concurrent.atomic.AtomicReference

/** The line of EXPLAIN for a join, empty at first. It is the same in all plans of the query: AQE goes on with an older plan if a new one equals it. Spark
  * asks for it whenever AQE has made a stage, so it is written then, and once for what it tells of.
  */
final class ExplainLine {
  private val told = new AtomicReference(new ExplainLine.Told(None, isWaiting = false, ""))

  /** Tells of a decision from now on.
    *
    * @param of
    *   the same object while the text is the same, but for `isWaiting`
    */
  def tell(of: AnyRef, isWaiting: Boolean)(text: => String): Unit = {
    val now = told.get
    if (now.isWaiting != isWaiting || !now.of.exists(_ eq of)) told.set(new ExplainLine.Told(Some(of), isWaiting, text))
  }

  def text: String = told.get.written
}

private object ExplainLine {
  final private class Told(val of: Option[AnyRef], val isWaiting: Boolean, text: => String) {
    lazy val written: String = text
  }
}
