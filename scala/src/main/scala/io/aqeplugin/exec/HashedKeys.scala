package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.ScalarSubquery
import org.apache.spark.sql.types.{BinaryType, LongType}

import io.aqeplugin.observe.KeyKind

/** Keys in the form that an engine checks: Spark's own Bloom filter over their hashes, as the result of a scalar subquery that has run. So
  * its bytes stand in no plan's text and no event, and a task gets them with its stage.
  *
  * @param value
  *   the bytes as an expression; the same one in every plan, so that equal scans stay equal
  */
final class HashedKeys private (val sizeBytes: Long, value: ScalarSubquery) {

  /** Whether the columns may be a key; null or false for one that has a null. */
  def mayHave(columns: Seq[Expression]): Expression = BloomFilterMightContain(value, HashedKeys.hash(columns))
}

object HashedKeys {

  /** The kind of a filter that an engine checks, in outcomes. */
  val Kind = "spark_bloom"

  /** @param filter
    *   a Bloom filter as Spark stores it, over [[hash]] of each key
    */
  def of(filter: Array[Byte], joinId: String): HashedKeys = {
    val column = AttributeReference("keys", BinaryType, nullable = false)()
    val value = ScalarSubquery(ReadyRowsExec(s"keys of $joinId", KeyRowsExec(Seq(column), Seq(filter))), NamedExpression.newExprId)
    value.updateResult()
    new HashedKeys(filter.length.toLong, value)
  }

  /** One hash of all columns of a key. Integers of any width have that of a long. */
  def hash(columns: Seq[Expression]): Expression = XxHash64(columns.map(widened), Seed)

  private def widened(column: Expression): Expression =
    if (column.dataType != LongType && KeyKind.of(column.dataType).contains(KeyKind.Integral)) Cast(column, LongType) else column

  private val Seed = 42L

  /** Computes [[hash]] of rows of these columns. For one thread. */
  private[exec] def hasher(keys: Seq[Expression], output: Seq[Attribute]): InternalRow => Long = {
    val project = UnsafeProjection.create(Seq(hash(keys)), output)
    row => project(row).getLong(0)
  }
}
