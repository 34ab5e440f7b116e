package io.aqeplugin.docs

import io.aqeplugin.conf.{AqeConf, ConfEntry, ConfSyntax}

/** Generates the Python stub with a typed attribute and argument for each threshold of `AqePlugin.thresholds`. */
object PythonThresholds {
  lazy val File: GeneratedFile = GeneratedFile("aqe_plugin/api/threshold_fields.pyi", text)

  private def entries: Seq[(String, ConfEntry[_])] = AqeConf.ThresholdKeys.flatMap(entry => entry.threshold.map(_ -> entry))

  private def text: String =
    s"""\"\"\"The thresholds by name and type, for type checkers and editors.
       |
       |Generated from scala/src/main/scala/io/aqeplugin/conf/AqeConf.scala by `make docs`; do not edit.
       |\"\"\"
       |
       |from typing import Generic, TypedDict, TypeVar
       |
       |N = TypeVar("N", bound=float)
       |
       |class Threshold(Generic[N]):
       |    def __get__(self, thresholds: object, owner: type) -> N: ...
       |    def __set__(self, thresholds: object, value: N | str) -> None: ...
       |
       |class ThresholdChanges(TypedDict, total=False):
       |""".stripMargin + entries.map { case (name, entry) => s"    $name: ${kind(entry)} | str\n" }.mkString +
      """
         |class ThresholdFields:
         |""".stripMargin + entries.map { case (name, entry) => s"    $name: Threshold[${kind(entry)}]\n" }.mkString

  private def kind(entry: ConfEntry[_]): String = if (entry.syntax == ConfSyntax.Number) "float" else "int"
}
