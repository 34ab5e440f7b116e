package io.aqeplugin.sparksuites

import java.nio.file.{Files, Paths}

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.Reporter
import org.scalatest.events._

import io.aqeplugin.metrics.Faults
import io.aqeplugin.tell.DecisionMetrics

/** ScalaTest reporter that records a run for `tests/spark/run.py`, as lines of JSON: `{"test", "result", "millis", "message"}` when a test
  * ends, and one last line `{"done", "queries", "queriesWithRules", "faults", "metrics"}`. A file without the last line is from an aborted
  * run. The system property [[SuiteReport.FileProperty]] names the file.
  */
final class SuiteReport extends Reporter {
  private val out = Files.newBufferedWriter(Paths.get(sys.props(SuiteReport.FileProperty)))

  override def apply(event: Event): Unit = event match {
    case e: TestSucceeded => test(e.testName, "passed", e.duration, "")
    case e: TestFailed    => test(e.testName, "failed", e.duration, text(e.message, e.throwable))
    case e: TestCanceled  => test(e.testName, "canceled", e.duration, text(e.message, e.throwable))
    case e: TestIgnored   => test(e.testName, "ignored", None, "")
    case e: TestPending   => test(e.testName, "ignored", e.duration, "")
    case e: SuiteAborted  => test(SuiteReport.SuiteItself, "failed", e.duration, text(e.message, e.throwable))
    case e: RunAborted    => test(SuiteReport.SuiteItself, "failed", e.duration, text(e.message, e.throwable))
    case _: RunCompleted  => done()
    case _                =>
  }

  private def test(name: String, result: String, millis: Option[Long], message: String): Unit =
    line(SuiteReport.mapper.createObjectNode.put(
      "test",
      name
    ).put("result", result).put("millis", millis.getOrElse(0L)).put("message", message))

  private def done(): Unit = {
    val node = SuiteReport.mapper.createObjectNode
      .put("done", true)
      .put("queries", PluginWitness.queries)
      .put("queriesWithRules", PluginWitness.queriesWithRules)
      .put("faults", Faults.count)
    val metrics = node.putObject("metrics")
    DecisionMetrics.counters.foreach { case (name, counter) => metrics.put(name, counter.getCount) }
    line(node)
    out.close()
  }

  /** The failure message, its causes, and the first stack frames inside a suite or the plugin. */
  private def text(message: String, throwable: Option[Throwable]): String = {
    val causes = Iterator.iterate(throwable.orNull)(_.getCause).takeWhile(_ != null).take(SuiteReport.MaxCauses).toSeq
    val frames = causes.flatMap(_.getStackTrace).filter(f => f.getClassName.startsWith("io.aqeplugin") || f.getClassName.contains("Suite"))
    val lines = message +: (causes.drop(1).map(_.toString) ++ frames.take(SuiteReport.MaxFrames).map(f => s"  at $f"))
    lines.mkString("\n").take(SuiteReport.MaxChars)
  }

  private def line(node: ObjectNode): Unit = {
    out.write(SuiteReport.mapper.writeValueAsString(node))
    out.newLine()
    out.flush()
  }
}

object SuiteReport {
  val FileProperty = "aqePlugin.suites.report"

  /** Replaces the test's name when the suite itself could not be set up or torn down. */
  val SuiteItself = "(the suite itself)"

  private val MaxCauses = 6
  private val MaxFrames = 12
  private val MaxChars = 6000
  private val mapper = new ObjectMapper()
}
