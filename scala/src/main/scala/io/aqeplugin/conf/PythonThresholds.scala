package io.aqeplugin.conf

/** The thresholds as typed names of the Python half: the file that `AqePlugin.thresholds` takes its attributes and arguments from. */
object PythonThresholds {
  lazy val File: GeneratedFile = GeneratedFile("aqe_plugin/api/threshold_fields.py", text)

  private def entries: Seq[(String, ConfEntry[_])] = AqeConf.ThresholdKeys.flatMap(entry => entry.threshold.map(_ -> entry))

  private def text: String =
    s"""\"\"\"The thresholds by name and type.
       |
       |Generated from scala/src/main/scala/io/aqeplugin/conf/AqeConf.scala by `make docs`; do not edit.
       |\"\"\"
       |
       |from __future__ import annotations
       |
       |from typing import TypedDict
       |
       |from aqe_plugin.api.threshold import Threshold
       |
       |__all__ = ["ThresholdChanges", "ThresholdFields"]
       |
       |
       |class ThresholdChanges(TypedDict, total=False):
       |    \"\"\"New values by name. Text is read as a conf would be, ``"256m"`` for bytes.\"\"\"
       |
       |""".stripMargin + entries.map { case (name, entry) => s"    $name: ${kind(entry)} | str\n" }.mkString +
      s"""
         |
         |class ThresholdFields:
         |    \"\"\"Every threshold of a session as an attribute, in the unit of its key.\"\"\"
         |
         |    __slots__ = ()
         |
         |""".stripMargin + entries.map { case (name, entry) => s"    $name = Threshold(${kind(entry)})\n" }.mkString

  private def kind(entry: ConfEntry[_]): String = if (entry.syntax == ConfSyntax.Number) "float" else "int"
}
