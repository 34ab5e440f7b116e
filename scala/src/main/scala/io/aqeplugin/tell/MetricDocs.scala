package io.aqeplugin.tell

import io.aqeplugin.conf.GeneratedSection
import io.aqeplugin.exec.ExecutorMetrics
import io.aqeplugin.metrics.MetricFamily

/** The names in Spark's own metrics system, for `docs/operations/metrics.md`. */
object MetricDocs {
  lazy val Section: GeneratedSection =
    GeneratedSection(
      "docs/operations/metrics.md",
      "spark metrics",
      table(Seq("driver" -> DecisionMetrics.All, "executor" -> ExecutorMetrics.All))
    )

  private def table(sources: Seq[(String, Seq[MetricFamily])]): String =
    (Seq("| Name | Where | Type | Unit | Meaning |", "|---|---|---|---|---|") ++ sources.flatMap { case (where, families) =>
      families.map(family => s"| `${family.name}` | $where | ${family.kind} | ${family.unit} | ${family.doc} |")
    }).mkString("\n")
}
