package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.ExprId

/** A scan that the keys of a join reach, or the input of an exchange where they reach none.
  *
  * @param columns
  *   the scan's columns, which are the same in every re-plan
  * @param isTarget
  *   whether the join's filter may go on it
  */
final case class ReachedScan(columns: Seq[ExprId], rows: Long, isTarget: Boolean)

object ReachedScan {

  /** The share of the rows of a join's scans that the filters of other joins leave.
    *
    * @param others
    *   the scans of each other join with a filter, and its pass rate
    */
  def leftByOthers(own: Iterable[ReachedScan], others: Iterable[(Iterable[ReachedScan], Double)]): Double = {
    val scans = own.filter(_.rows > 0).toSeq
    val filtered = others.map { case (reached, passRate) => (reached.filter(_.isTarget).map(_.columns).toSet, passRate) }
    def left(scan: ReachedScan): Double = filtered.collect { case (columns, passRate) if columns(scan.columns) => passRate }.product
    val rows = scans.map(_.rows.toDouble).sum
    if (filtered.isEmpty || rows <= 0) 1.0 else scans.map(scan => scan.rows * left(scan)).sum / rows
  }
}
