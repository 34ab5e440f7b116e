package io.aqeplugin.observe

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.expressions.ExprId

import io.aqeplugin.decide.Side
import io.aqeplugin.observe.JoinSamples.Taken

/** The samples of the scans that the keys of a query's joins reach. Equal joins of several plans share a name, and each may have a scan of its
  * own. Thread-safe.
  */
final class JoinSamples {

  // The latest first.
  private val samples = new ConcurrentHashMap[(String, Side), Seq[Taken]]()

  /** Takes a sample by `begin` if none was taken of this scan.
    *
    * @param columns
    *   those of the scan
    */
  def takeOnce(joinId: String, buildSide: Side, columns: Seq[ExprId])(begin: => Option[ProbeSample]): Unit = {
    val _ = samples.compute(
      (joinId, buildSide),
      { (_, earlier) =>
        val (ofScan, others) = Option(earlier).getOrElse(Nil).partition(_.columns == columns)
        ofScan.headOption.getOrElse(Taken(columns, begin)) +: others
      }
    )
  }

  /** The sample of a scan, or of the latest if its columns are not known. */
  def of(joinId: String, buildSide: Side, columns: Option[Seq[ExprId]]): Option[ProbeSample] =
    Option(samples.get((joinId, buildSide))).getOrElse(Nil).find(taken => columns.forall(_ == taken.columns)).flatMap(_.sample)
}

private object JoinSamples {

  /** A sample of the scan with these columns; none if it cannot be sampled. */
  final case class Taken(columns: Seq[ExprId], sample: Option[ProbeSample])
}
