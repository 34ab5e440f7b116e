package io.aqeplugin.plugin

/** Which Spark this jar fits. Internal planning classes change between minor releases, so a jar serves one line only. */
object SparkLine {

  /** All lines there is a jar for. */
  val Supported: Seq[String] = Seq("4.0", "4.1")

  /** The line of a Spark version, `4.1` for `4.1.3`. */
  def of(version: String): String = version.split("[.-]").take(2).mkString(".")

  /** What to tell the user when `version` is not the line this jar was built for; `None` when it is. */
  def mismatch(version: String, compiledLine: String = CompiledLine.Value): Option[String] = {
    val line = of(version)
    if (line == compiledLine) None
    else if (Supported.contains(line))
      Some(
        s"aqe-plugin: this jar is for Spark $compiledLine and this is Spark $version. Use the jar for $line " +
          s"(aqe-plugin jar-path --spark $line). The plugin stands down; queries run as without it."
      )
    else
      Some(
        s"aqe-plugin: Spark $version is not supported; supported lines are ${Supported.mkString(", ")}. " +
          "The plugin stands down; queries run as without it."
      )
  }
}
