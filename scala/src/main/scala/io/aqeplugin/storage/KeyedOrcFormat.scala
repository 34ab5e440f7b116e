package io.aqeplugin.storage

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.orc.{OrcConf, OrcFile, TypeDescription}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types._
import org.apache.spark.util.SerializableConfiguration

/** Spark's ORC format, with conditions of which the query needs no other rows: stripes and row groups without a row that fulfils them are not read.
  *
  * A file is read with the conditions only if its own columns have the types of the table's. ORC fails, or compares other values than Spark reads, where
  * they have not. To know that, each task reads the tail of its file once more.
  *
  * @param keyFilters
  *   the conditions
  * @param types
  *   those of their columns, by name
  */
private[storage] final class KeyedOrcFormat(val keyFilters: Seq[Filter], val types: Map[String, DataType]) extends OrcFileFormat {

  // Spark's own format is equal to every other one: see OrcKeys.Mark.
  override def equals(other: Any): Boolean = other match {
    case that: KeyedOrcFormat => that.keyFilters == keyFilters && that.types == types
    case _                    => false
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
      // Spark notes the conditions of a file in it.
      new Configuration(hadoopConf)
    )
    val plain = readerWith(filters)
    // Where the columns of a file go by their places, its names may be those of other columns.
    if (OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(hadoopConf)) plain
    else {
      val keyed = readerWith(filters ++ keyFilters)
      val conf = sparkSession.sparkContext.broadcast(new SerializableConfiguration(hadoopConf))
      val expected = types
      file => if (KeyedOrcFormat.hasTypes(file, conf.value.value, expected)) keyed(file) else plain(file)
    }
  }
}

private[storage] object KeyedOrcFormat {
  val Empty = new KeyedOrcFormat(Nil, Map.empty)

  /** Where Spark notes of what type a column is that ORC has no type for. */
  private val SparkType = "spark.sql.catalyst.type"

  /** Of a file that cannot be opened, Spark's own reader says why. */
  private def hasTypes(file: PartitionedFile, conf: Configuration, types: Map[String, DataType]): Boolean = Try {
    val path = file.toPath
    val reader = OrcFile.createReader(path, OrcFile.readerOptions(conf).filesystem(path.getFileSystem(conf)))
    try isNamed(reader.getSchema) && types.forall { case (name, dataType) => columnOf(reader.getSchema, name).exists(_._1 == dataType) }
    finally reader.close()
  }.getOrElse(false)

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
        case Seq((`name`, column)) if Option(column.getAttributeValue(SparkType)).isEmpty =>
          val dataType = column.getCategory match {
            case TypeDescription.Category.INT  => Some(IntegerType)
            case TypeDescription.Category.LONG => Some(LongType)
            case TypeDescription.Category.DATE => Some(DateType)
            case _                             => None
          }
          dataType.map(_ -> column.getId)
        case _ => None
      }
}
