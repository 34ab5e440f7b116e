package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition
import org.apache.spark.sql.catalyst.expressions.{Attribute, BindReferences, Cast, Expression, Literal}
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.observe.TableStatistics

/** Partitions of Hive tables that are read by a SerDe.
  *
  * The values of rows are the casts of what the metastore has, so these are compared, also those of the default partition: of texts, that is the name of
  * the partition, which Spark's own pruning takes for null. No condition is added: Spark would then cast the values of all partition columns, also of those
  * that the query does not read, and may fail.
  */
private[storage] object HiveKeys extends KeyedFormat {
  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] =
    for {
      hive <- HiveScan.of(scan) if hive.isPartition(keys.column)
      condition <- keys.isListed(Int.MaxValue).orElse(keys.mayBe)
      // A metastore may refuse; the scan will tell.
      all <- Try(hive.partitions(scan)).toOption.flatten
      left = all.filter(mayHold(_, keys.column, BindReferences.bindReference(condition, Seq(keys.column)), scan))
      if left.size < all.size
    } yield KeyedFormat.linked(scan, HiveScan.reading(scan, left))

  /** Whether rows of the partition may fulfil a condition on its column; true if the value is not known. */
  private def mayHold(partition: CatalogTablePartition, column: Attribute, condition: Expression, scan: SparkPlan): Boolean =
    partition.spec.find { case (name, _) => scan.conf.resolver(name, column.name) }.forall { case (_, text) =>
      Try {
        val value = Cast(Literal(text), column.dataType, Option(scan.conf.sessionLocalTimeZone)).eval()
        Option(value).forall(known => condition.eval(InternalRow(known)) == true)
      }.getOrElse(true)
    }
}
