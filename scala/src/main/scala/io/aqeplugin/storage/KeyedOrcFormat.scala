package io.aqeplugin.storage

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.orc.{OrcConf, OrcFile, TypeDescription}
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types._

/** Spark's ORC format, leaving out stripes and row groups by the keys of joins. */
private[storage] final class KeyedOrcFormat(val keyFilters: Seq[Filter], val types: Map[String, DataType])
    extends OrcFileFormat
    with FormatByTypes {

  override def plain: FileFormat = new OrcFileFormat
  override protected def made(keyFilters: Seq[Filter], types: Map[String, DataType]): FormatByTypes = new KeyedOrcFormat(keyFilters, types)

  // Where the columns of a file go by their places, its names may be those of other columns.
  override protected def isByName(conf: Configuration): Boolean = !OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(conf)
  override protected def hasTypes: FormatByTypes.Check = KeyedOrcFormat.hasTypes
}

private[storage] object KeyedOrcFormat {
  val Empty = new KeyedOrcFormat(Nil, Map.empty)

  /** Where Spark notes of what type a column is that ORC has no type for, and of some others. */
  private val SparkType = "spark.sql.catalyst.type"

  private def hasTypes(file: PartitionedFile, conf: Configuration, types: Map[String, DataType]): Boolean = {
    val path = file.toPath
    val reader = OrcFile.createReader(path, OrcFile.readerOptions(conf).filesystem(path.getFileSystem(conf)))
    // Files of older writers have statistics of texts and times that say something else.
    def isNew = reader.getWriterVersion.includes(OrcFile.WriterVersion.ORC_135)
    try isNamed(reader.getSchema) && types.forall { case (name, dataType) =>
        columnOf(reader.getSchema, name).exists(_._1 == dataType) && (Old.contains(dataType) || isNew)
      }
    finally reader.close()
  }

  private val Old: Set[DataType] = Set(IntegerType, LongType, DateType)

  /** Whether the columns of a file go by their names. Of files that old versions of Hive wrote, they go by their places. */
  private def isNamed(schema: TypeDescription): Boolean =
    schema.getCategory == TypeDescription.Category.STRUCT && !schema.getFieldNames.asScala.forall(_.startsWith("_col"))

  /** The type of a column of a file, and its number in the statistics; none if it has no such column, or another one of nearly the same name, or it is of a type whose order ORC and
    * Spark may see differently.
    */
  private[storage] def columnOf(schema: TypeDescription, name: String): Option[(DataType, Int)] =
    if (schema.getCategory != TypeDescription.Category.STRUCT) None
    else
      schema.getFieldNames.asScala.zip(schema.getChildren.asScala).filter(_._1.equalsIgnoreCase(name)).toSeq match {
        case Seq((`name`, column)) => typeOf(column, Option(column.getAttributeValue(SparkType))).map(_ -> column.getId)
        case _                     => None
      }

  private def typeOf(column: TypeDescription, ofSpark: Option[String]): Option[DataType] = (column.getCategory match {
    case TypeDescription.Category.INT       => Some(IntegerType)
    case TypeDescription.Category.LONG      => Some(LongType)
    case TypeDescription.Category.DATE      => Some(DateType)
    case TypeDescription.Category.STRING    => Some(StringType)
    case TypeDescription.Category.DECIMAL   => Some(DecimalType(column.getPrecision, column.getScale))
    case TypeDescription.Category.TIMESTAMP => Some(TimestampType)
    case _                                  => None
  }).filter(found => ofSpark.forall(_ == found.typeName))
}
