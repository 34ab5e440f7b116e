package io.aqeplugin.plugin

/** The Spark line that this jar was built for. */
private[plugin] object CompiledLine {
  val Value: String = "4.0"
}
