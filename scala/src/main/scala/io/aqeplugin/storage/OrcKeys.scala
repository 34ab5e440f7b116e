package io.aqeplugin.storage

import java.time.LocalDate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.sources
import org.apache.spark.sql.types.{DataType, DateType, IntegerType, LongType}

import io.aqeplugin.observe.TableStatistics

/** Stripes and row groups of ORC files: the reader skips those whose statistics exclude all keys. Whole numbers and dates only: of times, texts and
  * decimals, the statistics are in other units, bytes or scales than Spark's values.
  */
private[aqeplugin] object OrcKeys extends KeyedFormat {

  /** An option that tells a scan with keys from one without, since Spark takes all ORC formats for equal. */
  private val Mark = "io.aqeplugin.keys"

  private val PlainName = "[A-Za-z_][A-Za-z0-9_]*".r

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case file: FileSourceScanExec if isRead(file, keys.column) =>
      conditions(file, keys, tables).map { found =>
        val relation = file.relation
        val before = relation.fileFormat match {
          case known: KeyedOrcFormat => known
          case _                     => KeyedOrcFormat.Empty
        }
        val format = new KeyedOrcFormat(before.keyFilters ++ found, before.types.updated(keys.column.name, keys.column.dataType))
        val keyed = relation.copy(fileFormat = format, options = relation.options.updated(Mark, "true"))(relation.sparkSession)
        KeyedFormat.linked(file, file.copy(relation = keyed))
      }
    case _ => None
  }

  private def isRead(scan: FileSourceScanExec, column: Attribute): Boolean = {
    val isOrc = scan.relation.fileFormat match {
      case _: KeyedOrcFormat => true
      case other             => other.getClass == classOf[OrcFileFormat]
    }
    val isCompared = column.dataType match {
      case IntegerType | LongType | DateType => true
      case _                                 => false
    }
    isOrc && isCompared && PlainName.matches(column.name) && scan.conf.orcFilterPushDown &&
    !PartitionRange.isPartition(scan, column) && scan.relation.dataSchema.exists(_.name == column.name) &&
    !ParquetKeys.skipsDamage(scan.relation)
  }

  private def conditions(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics): Option[Seq[sources.Filter]] = {
    val listed = ParquetKeys.inList(scan, keys, tables).map(list => list.list.collect { case literal: Literal => valueOf(literal) })
    listed.map(values => Seq(sources.In(keys.column.name, values.toArray)))
      .orElse(Option.when(!keys.areTexts && ParquetKeys.leavesOutEnough(scan, keys, tables))(outsideGaps(keys)))
      .filter(_.nonEmpty)
  }

  /** The column is above the first range or in it, below the last or in it, and in no gap between two. An OR of ranges says the same, but ORC brings it
    * into this form by multiplying it out, and gives up above eight ranges.
    */
  private def outsideGaps(keys: KnownKeys): Seq[sources.Filter] = {
    val ranges = keys.built.ranges.flatMap(inType(_, keys.column.dataType))
    def bound(code: Long): Option[Any] = KnownKeys.kept(code, keys.column.dataType).map(valueOf)
    val name = keys.column.name
    val first = ranges.headOption.flatMap(range => bound(range._1)).map(sources.GreaterThanOrEqual(name, _))
    val last = ranges.lastOption.flatMap(range => bound(range._2)).map(sources.LessThanOrEqual(name, _))
    val gaps = ranges.zip(ranges.drop(1)).flatMap { case ((_, below), (above, _)) =>
      for (end <- bound(below); begin <- bound(above))
        yield sources.Or(sources.LessThanOrEqual(name, end), sources.GreaterThanOrEqual(name, begin))
    }
    first.toSeq ++ last ++ gaps
  }

  /** The part of a range that the values of a type may be in. */
  private def inType(range: (Long, Long), dataType: DataType): Option[(Long, Long)] = dataType match {
    case LongType => Some(range)
    case _ => Some((math.max(range._1, Int.MinValue.toLong), math.min(range._2, Int.MaxValue.toLong))).filter(part => part._1 <= part._2)
  }

  private def valueOf(literal: Literal): Any = (literal.dataType, literal.value) match {
    case (DateType, days: Int) => LocalDate.ofEpochDay(days.toLong)
    case (_, value)            => value
  }
}
