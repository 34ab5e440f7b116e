package io.aqeplugin.tell

import java.nio.file.Paths

import io.aqeplugin.conf.{ConfDocs, GeneratedFile}

/** Writes every generated file of the repository; the one argument is the repository's root. */
object GeneratedFiles {

  val All: Seq[GeneratedFile] = Seq(ConfDocs.Markdown, ConfDocs.Table, EventSchema.File)

  def main(args: Array[String]): Unit = {
    val root = Paths.get(args.headOption.getOrElse("."))
    All.foreach(_.write(root))
  }
}
