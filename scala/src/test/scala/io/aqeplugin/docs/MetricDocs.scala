package io.aqeplugin.docs

import io.aqeplugin.exec.ExecutorMetrics
import io.aqeplugin.tell.DecisionMetrics

/** The names in Spark's own metrics system, for `docs/reference/metrics.md`. */
object MetricDocs {
  lazy val Section: GeneratedSection = GeneratedSection(
    "docs/reference/metrics.md",
    "spark metrics",
    MarkdownTable(
      Seq("Name", "Where", "Type", "Unit", "Meaning"),
      for ((where, families) <- Seq("driver" -> DecisionMetrics.All, "executor" -> ExecutorMetrics.All); family <- families)
        yield Seq(s"`${family.name}`", where, family.kind, family.unit, family.doc)
    )
  )
}
