package io.aqeplugin.observe

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.expressions.ExprId

import io.aqeplugin.decide.Side
import io.aqeplugin.observe.JoinSamples.Taken

/** The samples of the scans that the keys of a query's joins reach, one for each join and build side. Thread-safe. */
final class JoinSamples {
  private val samples = new ConcurrentHashMap[(String, Side), Taken]()

  /** Takes a sample by `begin` if none was taken of this scan. One of another scan is dropped.
    *
    * @param columns
    *   those of the scan
    */
  def takeOnce(joinId: String, buildSide: Side, columns: Seq[ExprId])(begin: => Option[ProbeSample]): Unit = {
    val _ = samples.compute(
      (joinId, buildSide),
      (_, earlier) => Option(earlier).filter(_.columns == columns).getOrElse(Taken(columns, begin))
    )
  }

  /** Drops the sample of a join whose keys no longer reach one scan alone. */
  def forget(joinId: String, buildSide: Side): Unit = { val _ = samples.remove((joinId, buildSide)) }

  /** The sample, if one was taken.
    *
    * @param columns
    *   those of the scan; none if they are not known
    */
  def of(joinId: String, buildSide: Side, columns: Option[Seq[ExprId]]): Option[ProbeSample] =
    Option(samples.get((joinId, buildSide))).filter(taken => columns.forall(_ == taken.columns)).flatMap(_.sample)
}

private object JoinSamples {

  /** A sample of the scan with these columns; none if it cannot be sampled. */
  final case class Taken(columns: Seq[ExprId], sample: Option[ProbeSample])
}
