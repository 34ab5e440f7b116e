package io.aqeplugin.storage

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.LogicalTypeAnnotation.StringLogicalTypeAnnotation
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Smallest and largest text of columns in row groups of Parquet and in files of ORC and Iceberg, for estimates: no row is left out because of them.
  */
private[storage] object TextBounds {

  /** No text in UTF-8 has this byte. */
  val AfterAll: Byte = -1

  /** So many bytes of each text are kept. */
  private val KeptBytes = 16

  /** Whether all formats order the text as Spark does. */
  def isAscii(text: UTF8String): Boolean = text.getBytes.forall(_ >= 0)

  /** By column name, one entry for each row group; none for a row group without trusted statistics. */
  def of(rowGroups: Seq[BlockMetaData], schema: StructType): Map[String, Seq[Option[(UTF8String, UTF8String)]]] = {
    val texts = schema.filter(_.dataType == StringType).map(_.name).toSet
    ParquetFooter.chunks(rowGroups) { case Seq(column) => Some(column).filter(texts); case _ => None }.map { case (column, chunks) =>
      column -> chunks.map(chunk => ParquetFooter.readable(bounds(chunk)).flatten)
    }
  }

  private def bounds(chunk: ColumnChunkMetaData): Option[(UTF8String, UTF8String)] = {
    val isText = chunk.getPrimitiveType.getLogicalTypeAnnotation.isInstanceOf[StringLogicalTypeAnnotation]
    Option(chunk.getStatistics).filter(isText && _.hasNonNullValue).flatMap { statistics =>
      (statistics.genericGetMin: Any, statistics.genericGetMax: Any) match {
        case (min: Binary, max: Binary) => Some((beginning(min.getBytes), beginning(max.getBytes)))
        case _                          => None
      }
    }
  }

  /** The bounds of texts in one part of a file, as far as they are kept. */
  def kept(min: String, max: String): (UTF8String, UTF8String) = (beginning(min.getBytes(UTF_8)), beginning(max.getBytes(UTF_8)))

  /** What is kept of a text, given by its bytes. */
  def beginning(text: Array[Byte]): UTF8String = UTF8String.fromBytes(text.take(KeptBytes))

  /** The share of row groups that surely have no text in one of the ranges; those without bounds may have any.
    *
    * @param ranges
    *   from the smallest to the largest text of each, both included
    */
  def shareLeftOut(groups: Seq[Option[(UTF8String, UTF8String)]], ranges: Seq[(UTF8String, UTF8String)]): Double =
    if (groups.isEmpty) 0.0
    else {
      // An order of beginnings is one of the texts, unless they are equal.
      val cut = ranges.map { case (low, high) => (beginning(low.getBytes), beginning(high.getBytes)) }
      groups.count(_.exists { case (min, max) =>
        cut.forall { case (low, high) => high.binaryCompare(min) < 0 || low.binaryCompare(max) > 0 }
      }).toDouble / groups.size
    }
}
