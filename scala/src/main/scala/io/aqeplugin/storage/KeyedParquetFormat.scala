package io.aqeplugin.storage

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.parquet.schema.{LogicalTypeAnnotation, Type}
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DataType, DecimalType}

/** Spark's Parquet format, leaving out row groups and pages by decimal keys. Parquet's conditions on decimals ignore the precision of the file: values
  * that it has no room for are cut to it, or fail the query.
  */
private[storage] final class KeyedParquetFormat(val keyFilters: Seq[Filter], val types: Map[String, DataType])
    extends ParquetFileFormat
    with FormatByTypes {

  override def plain: FileFormat = new ParquetFileFormat
  override protected def made(keyFilters: Seq[Filter], types: Map[String, DataType]): FormatByTypes =
    new KeyedParquetFormat(keyFilters, types)
  override protected def isByName(conf: Configuration): Boolean = true
  override protected def hasTypes: FormatByTypes.Check = KeyedParquetFormat.hasTypes
}

private[storage] object KeyedParquetFormat {
  val Empty = new KeyedParquetFormat(Nil, Map.empty)

  private def hasTypes(file: PartitionedFile, conf: Configuration, types: Map[String, DataType]): Boolean = {
    val status = new FileStatus(file.fileSize, false, 1, 0L, file.modificationTime, file.toPath)
    val fields = ParquetTail.footer(status, conf).getFileMetaData.getSchema.getFields.asScala
    types.forall { case (name, dataType) =>
      fields.filter(_.getName.equalsIgnoreCase(name)).toSeq match {
        case Seq(field) => field.getName == name && decimalOf(field).contains(dataType)
        case _          => false
      }
    }
  }

  private def decimalOf(field: Type): Option[DecimalType] =
    if (!field.isPrimitive || field.isRepetition(Type.Repetition.REPEATED)) None
    else field.getLogicalTypeAnnotation match {
      case decimal: LogicalTypeAnnotation.DecimalLogicalTypeAnnotation => Some(DecimalType(decimal.getPrecision, decimal.getScale))
      case _                                                           => None
    }
}
