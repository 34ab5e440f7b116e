package io.aqeplugin.storage

import java.util.concurrent.atomic.AtomicReference

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, UnsafeRow}
import org.apache.spark.sql.types.StringType

import io.aqeplugin.decide.{SampledBlock, SampledKeys}
import io.aqeplugin.exec.{KeyCoder, KeyNotComputed}
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.{BuildKeys, ProbeSample}

/** The rows of a sample, for one join.
  *
  * @param blocks
  *   the rows, if they have been read
  * @param columns
  *   those of the rows, in their order
  * @param keys
  *   the join's keys over these columns
  */
private[storage] final class SampledRows(blocks: () => Option[Seq[Array[UnsafeRow]]], columns: Seq[Attribute], keys: Seq[Expression])
    extends ProbeSample {

  // A join that is not decided yet is asked for at each new plan, and its finished build side has the same keys each time.
  private val known = new AtomicReference[Option[SampledKeys]](None)

  override def matching(build: => Option[BuildKeys]): Option[SampledKeys] = known.get.orElse {
    val counted = count(build)
    known.set(counted)
    counted
  }

  private def count(build: => Option[BuildKeys]): Option[SampledKeys] =
    try
      for {
        found <- blocks() if found.nonEmpty
        known <- build
        isBuildKey <- known.have(keys, columns)
        counted <- among(found, isBuildKey)
      } yield counted
    catch {
      // The query will fail by it, or not read the row.
      case _: KeyNotComputed => None
      case Survivable(error) => Faults.note("key sample", "a filter is estimated without a sample", error); None
    }

  private def among(blocks: Seq[Array[UnsafeRow]], isBuildKey: (InternalRow, Long) => Boolean): Option[SampledKeys] = {
    val coder = KeyCoder(keys, columns)
    val matching = mutable.HashMap.empty[Long, Boolean]
    SampledKeys.of(blocks.map { rows =>
      var matches = 0 // once per row of the sample
      val keyed = rows.filter { row =>
        val hasKey = !coder.hasNull(row)
        if (hasKey) {
          val code = coder.code(row)
          if (matching.getOrElseUpdate(code, isBuildKey(row, code))) matches += 1
        }
        hasKey
      }
      SampledBlock(rows.length, matches, columns.indices.map(column => keyed.map(place(_, column))))
    })
  }

  /** A number in the order of the column's values, as far as its type is known to have one. */
  private def place(row: UnsafeRow, column: Int): Long = columns(column).dataType match {
    case _ if row.isNullAt(column) => Long.MinValue
    case StringType                => row.getUTF8String(column).getPrefix ^ Long.MinValue
    case _                         => ofColumn(column).code(row)
  }

  private lazy val ofColumn: Seq[KeyCoder] = columns.map(column => KeyCoder(Seq(column), columns))
}
