package io.aqeplugin.observe

import scala.collection.concurrent.TrieMap

import org.apache.spark.sql.catalyst.expressions.ExprId

/** A scan that the keys of a join reach, or the input of an exchange where they reach none.
  *
  * @param columns
  *   the scan's columns, which are the same in every re-plan
  * @param isTarget
  *   whether the join's filter may go on it
  */
final case class ReachedScan(columns: Seq[ExprId], rows: Long, isTarget: Boolean)

/** The scans that the keys of each join of a query reach. Thread-safe. */
final class ReachedScans {
  private val inPlans = TrieMap.empty[String, Map[JoinId, Seq[ReachedScan]]]

  /** Replaces the scans of a join, in one of the plans that have it.
    *
    * @param join
    *   the join in that plan
    */
  def note(joinId: String, join: JoinId, scans: Seq[ReachedScan]): Unit = {
    val _ = inPlans.updateWith(joinId)(known => Some(known.getOrElse(Map.empty).updated(join, scans)))
  }

  private def ofJoin(joinId: String): Seq[ReachedScan] = inPlans.getOrElse(joinId, Map.empty).values.flatten.toSeq

  /** The share of the rows of a join's scans that the filters of other joins leave.
    *
    * @param passRates
    *   the pass rates of all joins with a filter, by join id
    */
  def leftByOthers(joinId: String, passRates: Map[String, Double]): Double = {
    val scans = ofJoin(joinId).filter(_.rows > 0)
    val others = (passRates - joinId).toSeq.map { case (other, passRate) =>
      (ofJoin(other).filter(_.isTarget).map(_.columns).toSet, passRate)
    }
    def left(scan: ReachedScan): Double = others.collect { case (filtered, passRate) if filtered(scan.columns) => passRate }.product
    val rows = scans.map(_.rows.toDouble).sum
    if (others.isEmpty || rows <= 0) 1.0 else scans.map(scan => scan.rows * left(scan)).sum / rows
  }
}
