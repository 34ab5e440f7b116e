package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryTableScanLike

/** What Spark says of a leaf of a plan.
  *
  * @param bytes
  *   of these columns; none where the source does not know
  */
private[observe] final case class LeafStatistics(bytes: Option[Double], rowCount: Option[Double], columns: Seq[Attribute]) {

  /** As counted, or by the width of a row. */
  def rows: Option[Double] = rowCount.orElse(bytes.map(_ / RowWidth.ofRow(columns)))
}

private[observe] object LeafStatistics {

  /** A source of unknown size reports Long.MaxValue, or a product of it. */
  def isBelievable(bytes: Double): Boolean = bytes < 1e15

  /** Those of the relation itself: for operators above it, which the leaf's link may have too, Spark scales its size by widths and forgets its rows.
    */
  def of(leaf: SparkPlan): Option[LeafStatistics] = leaf match {
    case cache: InMemoryTableScanLike if cache.isMaterialized => Some(of(cache.runtimeStatistics, leaf.output))
    case other                                                => other.logicalLink.map(link =>
        link.collectLeaves() match {
          case Seq(relation) => of(relation.stats, relation.output)
          case _             => of(link.stats, leaf.output)
        }
      )
  }

  private def of(known: Statistics, columns: Seq[Attribute]): LeafStatistics =
    LeafStatistics(Some(known.sizeInBytes.toDouble).filter(isBelievable), known.rowCount.map(_.toDouble), columns)
}
