package io.aqeplugin.storage

import java.math.BigInteger

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.parquet.crypto.ParquetCryptoRuntimeException
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType, Type}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.{FIXED_LEN_BYTE_ARRAY, INT32, INT64}
import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_MILLIS, NANOS_PER_MICROS}
import org.apache.spark.sql.catalyst.util.RebaseDateTime
import org.apache.spark.sql.types._

import io.aqeplugin.observe.{KeyKind, ValueIndex}

/** Reads the row groups of a file from its footer. */
private[storage] object ParquetFooter {

  /** The row count, and the ranges of columns in the units of the schema's types; throws any exception of the file system. */
  def summary(file: FileStatus, conf: Configuration, schema: StructType): FooterSummary = {
    val footer = ParquetTail.footer(file, conf)
    val blocks = footer.getBlocks.asScala.toSeq
    val fields = footer.getFileMetaData.getSchema.getFields.asScala
    val types = schema.map(column => column.name -> column.dataType).toMap
    val units = for (field <- fields; read <- types.get(field.getName)) yield field.getName -> unitsPerValue(field, read)
    // The place of a row group counts the bytes of all columns.
    val groups =
      if (!blocks.exists(_.getColumns.asScala.exists(_.isEncrypted)))
        blocks.map(block => RowGroup(block.getStartingPos + block.getCompressedSize / 2, block.getRowCount))
      else Nil
    val chunkBytes = chunks(blocks)(path => Some(path.head).filter(types.contains)).flatMap { case (column, found) =>
      readable(found.map(_.getTotalSize).max).map(column -> _)
    }
    FooterSummary(
      blocks.map(_.getRowCount).sum,
      ranges(blocks, units.toMap),
      groups,
      chunkBytes,
      TextBounds.of(blocks, schema),
      valueIndexes(blocks, types.keySet)
    )
  }

  private def valueIndexes(rowGroups: Seq[BlockMetaData], columns: Set[String]): Map[String, Option[ValueIndex]] =
    chunks(rowGroups) { case Seq(column) => Some(column).filter(columns); case _ => None }.map { case (column, found) =>
      column -> FooterSummary.slowest(found.map(chunk => readable(valueIndex(chunk)).flatten))
    }

  private def valueIndex(chunk: ColumnChunkMetaData): Option[ValueIndex] =
    Option(chunk.getEncodingStats).filter(pages => pages.hasDictionaryPages && !pages.hasNonDictionaryEncodedPages) match {
      case Some(_)                                  => widthBytes(chunk).map(width => ValueIndex.Dictionary(dictionaryBytes(chunk) / width))
      case None if chunk.getBloomFilterOffset >= 0L => Some(ValueIndex.BloomFilter)
      case None                                     => None
    }

  /** Bytes of the dictionary as it is in memory, if it is compressed as the rest of its chunk. */
  private def dictionaryBytes(chunk: ColumnChunkMetaData): Long = {
    val stored = math.max(0L, chunk.getFirstDataPageOffset - chunk.getDictionaryPageOffset)
    (stored.toDouble * chunk.getTotalUncompressedSize / math.max(1L, chunk.getTotalSize)).toLong
  }

  private def widthBytes(chunk: ColumnChunkMetaData): Option[Int] = chunk.getPrimitiveType.getPrimitiveTypeName match {
    case INT32 => Some(Integer.BYTES)
    case INT64 => Some(java.lang.Long.BYTES)
    case _     => None
  }

  /** The chunks of the columns that are asked for, by the names that `asked` gives them. What a chunk says, other than its path, may be encrypted
    * with a key of its column's own, so that nothing of a column is looked at for which no query asks.
    */
  private[storage] def chunks(rowGroups: Seq[BlockMetaData])(asked: Seq[String] => Option[String]): Map[String, Seq[ColumnChunkMetaData]] =
    rowGroups.flatMap(_.getColumns.asScala).flatMap(chunk => asked(chunk.getPath.toArray.toSeq).map(_ -> chunk)).groupMap(_._1)(_._2)

  /** What a chunk says; none if the user may not have the key of its column. */
  private[storage] def readable[A](of: => A): Option[A] =
    try Some(of)
    catch { case _: ParquetCryptoRuntimeException => None }

  /** The row count and the statistics of the given columns; throws any exception of the file system. */
  def facts(file: FileStatus, conf: Configuration, columns: Seq[FileColumn]): FooterFacts = {
    val footer = ParquetTail.footer(file, conf)
    val blocks = footer.getBlocks.asScala.toSeq
    val fields = footer.getFileMetaData.getSchema.getFields.asScala.toSeq
    val found = columns.map { column =>
      val named = fields.filter(_.getName.equalsIgnoreCase(column.name))
      // With another field of nearly the same name, the session's case sensitivity says which one is read.
      val field = Option.when(named.size == 1)(named.head).filter(_.getName == column.name)
      column -> field.filter(isReadAs(_, column.dataType)).flatMap { field =>
        readable(statistics(blocks, field.getName)).flatten.filter(isExact(_, column.dataType))
      }
    }
    FooterFacts(blocks.map(_.getRowCount).sum, found.toMap)
  }

  /** Whether the file's values and bounds are those of Spark's type. Signed integers are compared in the same way by all writers, also in the
    * deprecated `min` and `max`.
    */
  private def isReadAs(field: Type, dataType: DataType): Boolean = field match {
    case primitive: PrimitiveType if !primitive.isRepetition(Type.Repetition.REPEATED) =>
      (primitive.getPrimitiveTypeName, primitive.getLogicalTypeAnnotation, dataType) match {
        case (INT32, null, ByteType | ShortType | IntegerType | LongType)                                                => true
        case (INT32, int: LogicalTypeAnnotation.IntLogicalTypeAnnotation, ByteType | ShortType | IntegerType | LongType) => int.isSigned
        case (INT32, _: LogicalTypeAnnotation.DateLogicalTypeAnnotation, DateType)                                       => true
        case (INT64, null, LongType)                                                                                     => true
        case (INT64, int: LogicalTypeAnnotation.IntLogicalTypeAnnotation, LongType)                                      => int.isSigned
        case (INT64, time: LogicalTypeAnnotation.TimestampLogicalTypeAnnotation, TimestampType | TimestampNTZType)       =>
          time.getUnit == LogicalTypeAnnotation.TimeUnit.MICROS && time.isAdjustedToUTC == (dataType == TimestampType)
        case _ => false
      }
    case _ => false
  }

  /** Whether Spark reads the values as the file has them: it cuts integers to the column's type and may rebase old dates. */
  private def isExact(facts: ColumnFacts, dataType: DataType): Boolean = facts.range.forall { case (low, high) =>
    dataType match {
      case ByteType                         => low >= Byte.MinValue && high <= Byte.MaxValue
      case ShortType                        => low >= Short.MinValue && high <= Short.MaxValue
      case DateType                         => low >= RebaseDateTime.lastSwitchGregorianDay
      case TimestampType | TimestampNTZType => low >= RebaseDateTime.lastSwitchGregorianTs
      case _                                => true
    }
  }

  private def statistics(rowGroups: Seq[BlockMetaData], column: String): Option[ColumnFacts] = {
    val chunks = rowGroups.map(_.getColumns.asScala.find(_.getPath.toArray.sameElements(Array(column))))
    val known = chunks.flatten.map { chunk =>
      Option(chunk.getStatistics).filterNot(_.isEmpty).flatMap { statistics =>
        val nulls = Option.when(statistics.isNumNullsSet)(statistics.getNumNulls)
        if (statistics.hasNonNullValue) range(chunk).filter(r => r._1 <= r._2).map(r => ColumnFacts(Some(r), nulls))
        else nulls.filter(_ == chunk.getValueCount).map(all => ColumnFacts(None, Some(all)))
      }
    }
    if (chunks.forall(_.isDefined) && known.forall(_.isDefined)) {
      val ranges = known.flatten.flatMap(_.range)
      val nulls = known.flatten.map(_.nulls)
      Some(ColumnFacts(
        Option.when(ranges.nonEmpty)((ranges.map(_._1).min, ranges.map(_._2).max)),
        Option.when(nulls.forall(_.isDefined))(nulls.flatten.sum)
      ))
    } else None
  }

  /** How many units of Spark's type one unit of the file is; none if the type has no order of whole numbers, or orders others than the file. */
  private def unitsPerValue(field: Type, dataType: DataType): Option[Long] = field match {
    case primitive: PrimitiveType =>
      (primitive.getPrimitiveTypeName, primitive.getLogicalTypeAnnotation, dataType) match {
        // Whether the file's times are of a time zone does not change the number that Spark reads.
        case (INT64, time: LogicalTypeAnnotation.TimestampLogicalTypeAnnotation, TimestampType | TimestampNTZType) =>
          time.getUnit match {
            case LogicalTypeAnnotation.TimeUnit.MICROS => Some(1L)
            case LogicalTypeAnnotation.TimeUnit.MILLIS => Some(MICROS_PER_MILLIS)
            case LogicalTypeAnnotation.TimeUnit.NANOS  => None
          }
        case (INT64, time: LogicalTypeAnnotation.TimeLogicalTypeAnnotation, read) if KeyKind.isTime(read) =>
          Option.when(time.getUnit == LogicalTypeAnnotation.TimeUnit.MICROS)(NANOS_PER_MICROS)
        case (INT32 | INT64 | FIXED_LEN_BYTE_ARRAY, inFile: LogicalTypeAnnotation.DecimalLogicalTypeAnnotation, read: DecimalType) =>
          Option.when(inFile.getScale == read.scale && read.precision <= Decimal.MAX_LONG_DIGITS)(1L)
        case (INT32, null, _: YearMonthIntervalType) | (INT64, null, _: DayTimeIntervalType) => Some(1L)
        case _                                                                               => Option.when(isReadAs(field, dataType))(1L)
      }
    case _ => None
  }

  private def ranges(rowGroups: Seq[BlockMetaData], unitsPerValue: Map[String, Option[Long]]): Map[String, Option[(Long, Long)]] =
    chunks(rowGroups) { case Seq(column) => Some(column).filter(unitsPerValue.contains); case _ => None }.map { case (column, found) =>
      column -> unitsPerValue(column).flatMap(units =>
        FooterSummary.covering(found.map(chunk => readable(range(chunk)).flatten.flatMap(times(_, units))))
      )
    }

  private def times(range: (Long, Long), units: Long): Option[(Long, Long)] =
    Try((math.multiplyExact(range._1, units), math.multiplyExact(range._2, units))).toOption

  private def range(chunk: ColumnChunkMetaData): Option[(Long, Long)] =
    Option(chunk.getStatistics).filter(_.hasNonNullValue).flatMap { statistics =>
      (statistics.genericGetMin: Any, statistics.genericGetMax: Any) match {
        case (min: Integer, max: Integer)               => Some((min.longValue, max.longValue))
        case (min: java.lang.Long, max: java.lang.Long) => Some((min.longValue, max.longValue))
        // A decimal of bytes, the highest first.
        case (min: Binary, max: Binary) =>
          Try((new BigInteger(min.getBytes).longValueExact, new BigInteger(max.getBytes).longValueExact)).toOption
        case _ => None
      }
    }
}
