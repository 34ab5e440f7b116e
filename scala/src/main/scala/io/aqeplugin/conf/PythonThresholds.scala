package io.aqeplugin.conf

/** Generates the Python file with a typed attribute and argument for each threshold of `AqePlugin.thresholds`. */
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
       |    \"\"\"New values by name. Text has the syntax of a conf value, such as ``"256m"`` for bytes.\"\"\"
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
