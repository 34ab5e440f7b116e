package io.aqeplugin.tell

import java.nio.file.Paths

import io.aqeplugin.conf.{ConfDocs, Generated, PythonThresholds}

/** Writes every generated file of the repository; the one argument is the repository's root. */
object GeneratedFiles {

  val All: Seq[Generated] =
    Seq(
      ConfDocs.Markdown,
      ConfDocs.Table,
      PythonThresholds.File,
      EventSchema.File,
      DecisionsTableDocs.File,
      MetricDocs.Section
    ) ++ DecisionDocs.All

  def main(args: Array[String]): Unit = {
    val root = Paths.get(args.headOption.getOrElse("."))
    All.foreach(_.write(root))
  }
}
