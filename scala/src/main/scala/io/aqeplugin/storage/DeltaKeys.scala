package io.aqeplugin.storage

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.types._

import io.aqeplugin.observe.TableStatistics

/** Delta tables: partitions, files whose statistics in Delta's log exclude all keys, and row groups.
  *
  * Delta has listed the files when it planned the query. Conditions on partitions choose among these. For any other condition Delta lists them
  * anew, by a job over the statistics in its log, so a small table gets none. Delta itself gives conditions the names that columns have in
  * its files, and ignores them where it counts the rows of a file to leave out deleted ones.
  */
private[storage] object DeltaKeys extends KeyedFormat {

  /** Bytes below which reading all files is about as fast as a job that chooses among them. Each file counts as Spark counts it when it
    * divides them into tasks: by its bytes and the cost of opening it.
    */
  private val MinBytes = 64L << 20

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case file: FileSourceScanExec => DeltaScan.preparedFiles(file).flatMap { files =>
        val narrowed =
          if (PartitionRange.isPartition(file, keys.column)) byPartition(file, keys)
          else if (isTrusted(keys) && DeltaScan.readsByName(file) && isLarge(file, files) && !ParquetKeys.skipsDamage(file.relation))
            byStatistics(file, keys, tables)
          else None
        narrowed.map(UnlistedFiles.counted(file, _))
      }
    case _ => None
  }

  private def byPartition(scan: FileSourceScanExec, keys: KnownKeys): Option[FileSourceScanExec] =
    // Spark looks such a column up by its name.
    Option(scan.relation.partitionSchema.fieldNames.indexOf(keys.column.name)).filter(_ >= 0).flatMap { ordinal =>
      keys.isListedAtRunTime.orElse(keys.mayBe.map(test => keys.isAmong(passing(scan, ordinal, test))))
        .map(condition => ThisSparkLine.withPartitionFilters(scan, Seq(condition)))
    }

  /** The values of the listed partitions that may be keys. */
  private def passing(scan: FileSourceScanExec, ordinal: Int, test: MayBeKey): Seq[Any] = {
    val field = scan.relation.partitionSchema(ordinal)
    val value = test.copy(child = BoundReference(0, field.dataType, nullable = true))
    scan.selectedPartitions.filePartitionIterator.map(_.values.get(ordinal, field.dataType)).toSet
      .filter((found: Any) => value.eval(InternalRow(found)) == true).toSeq
  }

  private def byStatistics(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics): Option[FileSourceScanExec] = {
    // The log has the range of each file; a range of a few of them says little of what it leaves out.
    val list = ParquetKeys.listed(scan, keys, tables).map(keys.isOneOf)
    // To Delta's statistics any list is the range from the first to the last value.
    val found: Seq[Expression] = keys.isInRanges.toSeq ++ list
    Option.when(found.nonEmpty)(ThisSparkLine.withDataFilters(scan, found))
  }

  /** Decimals and integers of less than four bytes are compared otherwise than Spark compares them, where a file has another type. The statistics of
    * texts have a character in place of bytes that are not UTF-8, and some versions end a cut maximum with one that is not the greatest:
    * they say nothing of keys beyond ASCII.
    */
  private def isTrusted(keys: KnownKeys): Boolean = keys.column.dataType match {
    case BooleanType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                                  => keys.areAscii
  }

  private def isLarge(scan: FileSourceScanExec, files: Int): Boolean =
    scan.relation.location.sizeInBytes.toDouble + files.toDouble * scan.conf.filesOpenCostInBytes >= MinBytes
}
