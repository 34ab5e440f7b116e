package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.catalog.{CatalogTablePartition, HiveTableRelation}
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruning, Expression}
import org.apache.spark.sql.execution.SparkPlan

/** A scan of a Hive table that Spark reads by the table's SerDe.
  *
  * Spark's Hive module is on no class path that need not have it, so the operator goes by its name and the parameters of its constructor.
  *
  * @param partitionConditions
  *   what the scan requires of partitions. Those that are no dynamic pruning were used when the relation's list of partitions was made
  */
private[aqeplugin] final case class HiveScan(columns: Seq[_], relation: HiveTableRelation, partitionConditions: Seq[Expression]) {

  def isPartition(column: Attribute): Boolean = relation.partitionCols.exists(_.exprId == column.exprId)

  /** The partitions that the scan reads unless dynamic pruning leaves them out; none if it has conditions that no list was made by. May ask the
    * metastore.
    */
  def partitions(scan: SparkPlan): Option[Seq[CatalogTablePartition]] = relation.prunedPartitions.orElse {
    val isPlanned = partitionConditions.forall(_.isInstanceOf[DynamicPruning])
    Option.when(isPlanned)(scan.session.sessionState.catalog.listPartitions(relation.tableMeta.identifier))
  }
}

private[aqeplugin] object HiveScan {
  private val Operator = "org.apache.spark.sql.hive.execution.HiveTableScanExec"

  def isOne(plan: SparkPlan): Boolean = plan.getClass.getName == Operator

  def of(plan: SparkPlan): Option[HiveScan] =
    if (!isOne(plan)) None
    else
      plan.productIterator.toSeq match {
        case Seq(columns: Seq[_], relation: HiveTableRelation, conditions: Seq[_]) =>
          Some(HiveScan(columns, relation, conditions.collect { case condition: Expression => condition }))
        case _ => None
      }

  /** The operator, reading these partitions. */
  def reading(plan: SparkPlan, partitions: Seq[CatalogTablePartition]): SparkPlan = of(plan).fold(plan) { scan =>
    plan.makeCopy(Array(scan.columns, scan.relation.copy(prunedPartitions = Some(partitions)), scan.partitionConditions))
  }
}
