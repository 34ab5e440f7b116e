package io.aqeplugin.limit

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.decide.ReasonCode
import io.aqeplugin.observe.QueryState

/** What the limits of one query have found and decided. Thread-safe.
  *
  * The first search for an equal limit over the same files counts for all: a query that refers to a limit twice relies on AQE to reuse the
  * rows of the one for the other, and AQE does so only if both read the same files. Another search may know more footers.
  */
final class LimitsOfQuery(state: QueryState) {
  import LimitsOfQuery.{OfFiles, Top}

  private val limits = new ConcurrentLinkedQueue[DecidedLimit]()

  def fewestOnce(limit: OfFiles)(search: => (LimitFacts, FileChoice)): (LimitFacts, FileChoice) =
    state.once(limit)(search)

  /** The same for a sorted limit. */
  def topOnce(limit: OfFiles)(search: => Top): Top = state.once(limit)(search)

  def note(limit: DecidedLimit): Unit = { val _ = limits.add(limit) }

  /** The limits of the query, in the order of their decisions. */
  def decided: Seq[DecidedLimit] = limits.asScala.toSeq
}

object LimitsOfQuery {
  def apply(state: QueryState): LimitsOfQuery = state.once(LimitsOfQuery)(new LimitsOfQuery(state))

  /** A limit in its canonical form, sorted or not, with all files of its scan. */
  final case class OfFiles(limit: SparkPlan, files: Seq[Path])

  /** What a sorted limit found, or why nothing. */
  type Top = (LimitFacts, Either[ReasonCode, TopSearch])
}
