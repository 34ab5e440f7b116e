package io.aqeplugin.storage

import java.time.LocalDate

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.sources
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** What a column with a key fulfils, as the filters that Spark's readers of files take. */
private[storage] object KeyFilters {
  private val PlainName = "[A-Za-z_][A-Za-z0-9_]*".r

  /** Whether a column's name means the same in a filter, where a dot leads into a struct. */
  def isPlain(name: String): Boolean = PlainName.matches(name)

  /** The column holds one of the listed values. */
  def listed(values: Seq[Literal], name: String): sources.Filter = sources.In(name, values.map(valueOf).toArray)

  /** The column is above the first range or in it, below the last or in it, and in no gap between two. An OR of ranges says the same, but ORC brings it
    * into this form by multiplying it out, and gives up above eight ranges.
    */
  def outsideGaps(keys: KnownKeys): Seq[sources.Filter] = {
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

  /** The part of a range that the values of a type may be in. A file may have decimals of more digits than it says, which Spark reads: a range of them
    * stays, and has no bound.
    */
  private def inType(range: (Long, Long), dataType: DataType): Option[(Long, Long)] = dataType match {
    case LongType | TimestampType | _: DecimalType => Some(range)
    case _ => Some((math.max(range._1, Int.MinValue.toLong), math.min(range._2, Int.MaxValue.toLong))).filter(part => part._1 <= part._2)
  }

  private def valueOf(literal: Literal): Any = (literal.dataType, literal.value) match {
    case (DateType, days: Int)         => LocalDate.ofEpochDay(days.toLong)
    case (_, decimal: Decimal)         => decimal.toJavaBigDecimal
    case (TimestampType, micros: Long) => DateTimeUtils.microsToInstant(micros)
    case (_, text: UTF8String)         => text.toString
    case (_, value)                    => value
  }
}
