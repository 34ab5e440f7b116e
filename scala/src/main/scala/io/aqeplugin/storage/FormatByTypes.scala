package io.aqeplugin.storage

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.util.SerializableConfiguration

import io.aqeplugin.metrics.{Faults, Survivable}

/** One of Spark's formats, with conditions of which the query needs no other rows: parts of files without a row that fulfils them are not read.
  *
  * A file is read with the conditions only if its own columns have the types of the table's. Spark's readers fail, or compare other values than Spark
  * reads, where they have not. To know that, each task reads the end of its file once more.
  */
private[storage] trait FormatByTypes extends FileFormat {

  /** The conditions. */
  def keyFilters: Seq[Filter]

  /** The types of their columns, by name. */
  def types: Map[String, DataType]

  /** The format without the conditions. */
  def plain: FileFormat

  /** The format with these conditions. */
  protected def made(keyFilters: Seq[Filter], types: Map[String, DataType]): FormatByTypes

  /** Whether a file has the types; what it throws counts as no. */
  protected def hasTypes: FormatByTypes.Check

  /** Whether the columns of files go by their names. */
  protected def isByName(conf: Configuration): Boolean

  // Spark's own formats are equal to every other one: see FormatByTypes.Mark.
  override def equals(other: Any): Boolean = other match {
    case that: FormatByTypes => that.getClass == getClass && that.keyFilters == keyFilters && that.types == types
    case _                   => false
  }

  override def hashCode: Int = keyFilters.hashCode

  override def buildReaderWithPartitionValues(
      sparkSession: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration
  ): PartitionedFile => Iterator[InternalRow] = {
    def readerWith(filters: Seq[Filter]): PartitionedFile => Iterator[InternalRow] = super.buildReaderWithPartitionValues(
      sparkSession,
      dataSchema,
      partitionSchema,
      requiredSchema,
      filters,
      options,
      // Spark notes the conditions of an ORC file in it.
      new Configuration(hadoopConf)
    )
    val plain = readerWith(filters)
    if (!isByName(hadoopConf)) plain
    else {
      val keyed = readerWith(filters ++ keyFilters)
      val conf = sparkSession.sparkContext.broadcast(new SerializableConfiguration(hadoopConf))
      val (isOfTypes, expected) = (hasTypes, types)
      file => if (FormatByTypes.holds(isOfTypes(file, conf.value.value, expected))) keyed(file) else plain(file)
    }
  }
}

private[storage] object FormatByTypes {

  /** Whether a file has columns of these types, by name. */
  type Check = (PartitionedFile, Configuration, Map[String, DataType]) => Boolean

  /** An option that tells a scan with keys from one without, since Spark takes all formats of a kind for equal. */
  private val Mark = "io.aqeplugin.keys"

  /** A format that reads all rows. */
  def plain(format: FileFormat): FileFormat = format match {
    case known: FormatByTypes => known.plain
    case other                => other
  }

  /** A copy of the scan that reads its files with more conditions, all on one column.
    *
    * @param empty
    *   the format of the scan without conditions of ours
    */
  def reading(scan: FileSourceScanExec, empty: FormatByTypes, more: Seq[Filter], column: Attribute): FileSourceScanExec = {
    val relation = scan.relation
    val before = relation.fileFormat match {
      case known: FormatByTypes => known
      case _                    => empty
    }
    val format = before.made(before.keyFilters ++ more, before.types.updated(column.name, column.dataType))
    val keyed = relation.copy(fileFormat = format, options = relation.options.updated(Mark, "true"))(relation.sparkSession)
    KeyedFormat.linked(scan, ThisSparkLine.withRelation(scan, keyed))
  }

  /** The result of a check of a file; a check that fails counts as no. */
  private[storage] def holds(check: => Boolean): Boolean =
    try check
    catch {
      // Of a file that cannot be opened, Spark's own reader says why.
      case _: IOException    => false
      case Survivable(error) =>
        Faults.note("types of a file", "all of its row groups are read", error)
        false
    }
}
