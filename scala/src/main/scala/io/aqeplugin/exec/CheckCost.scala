package io.aqeplugin.exec

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.types._

import io.aqeplugin.filters._

/** Nanoseconds for one row of a check, as docs/results.md measured them.
  *
  * They are constants because they order the filters of a scan ([[ProbeOrder]]), and a task that runs again must give the same rows. They
  * need to be right within a factor.
  */
private[exec] object CheckCost {

  /** The code of a key. */
  def nanosOfCode(keys: Seq[Expression]): Double = keys.map(nanosOfKey).sum + (keys.size - 1) * CombineNanos

  /** Whether a filter has a code. */
  def nanosOfFilter(filter: KeyFilter): Double = filter match {
    case EmptySet       => 0.5
    case _: RangeFilter => 1.0
    case _: RangeBitmap => 1.4 + 4.0 * missed(filter)
    case _: ExactSet    => 7.0 + 80.0 * missed(filter)
    case _              => 4.0 + 32.0 * missed(filter)
  }

  private final val CombineNanos = 2.0

  // A projection of one column, by the type of its result; not the function itself, which may be anything.
  private final val ProjectionNanos = 20.0

  private def nanosOfKey(key: Expression): Double = key match {
    case _: Attribute => nanosOfColumn(key.dataType)
    case computed     => ProjectionNanos + nanosOfColumn(computed.dataType)
  }

  private def nanosOfColumn(dataType: DataType): Double = dataType match {
    case d: DecimalType if d.precision > Decimal.MAX_LONG_DIGITS => 60.0
    case _: DecimalType                                          => 5.0
    case s: StringType if !SparkBridge.isComparedByBytes(s)      => 200.0
    case _: StringType | BinaryType                              => 10.0
    case _                                                       => 1.0
  }

  // The second-level cache of a core, as in the cost model.
  private final val CacheBytes = 2.0 * 1024 * 1024

  /** The share of checks that wait for memory. */
  private def missed(filter: KeyFilter): Double = math.max(0.0, 1.0 - CacheBytes / math.max(1L, filter.sizeBytes))
}
