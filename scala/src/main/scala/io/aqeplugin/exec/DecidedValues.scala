package io.aqeplugin.exec

import org.apache.parquet.column.Dictionary
import org.apache.spark.sql.execution.vectorized.{ConstantColumnVector, WritableColumnVector}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

import io.aqeplugin.filters.{KeyFilter, Positions}

/** Checks a column that repeats its values: a constant once a batch, each entry of a Parquet dictionary once a row group.
  *
  * Mutable; belongs to one task.
  *
  * @param column
  *   one of which rows with nulls are left out before
  */
private[exec] final class DecidedValues(column: KeyColumn, filter: KeyFilter) {
  import DecidedValues._

  private var dictionary = Option.empty[Dictionary]
  private var verdicts = Array.emptyByteArray // by id of the dictionary
  private var sawUndecided = false
  private val one = new Array[Int](1)

  /** Keeps the positions whose key may be in the filter, as [[KeyFilter.retain]] does. None of them may be null.
    *
    * @param codes
    *   as long as the batch; what is in it afterwards is not said
    * @return
    *   [[Unknown]] if the column does not repeat values
    */
  def retain(batch: ColumnarBatch, positions: Array[Int], count: Int, codes: Array[Long]): Int =
    if (count == 0) 0
    else
      batch.column(column.ordinal) match {
        case constant: ConstantColumnVector                                             => verdict(constant, positions(0), codes) * count
        case encoded: WritableColumnVector if encoded.hasDictionary && isKnown(encoded) => byId(encoded, positions, count, codes)
        case _                                                                          => Unknown
      }

  private def isKnown(vector: WritableColumnVector): Boolean = {
    val present = ParquetDictionaries.of(vector)
    if (present.isDefined && !dictionary.exists(_ eq present.get)) {
      verdicts = Array.fill(present.get.getMaxId + 1)(Undecided)
    }
    dictionary = present
    present.isDefined
  }

  private def byId(vector: WritableColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Int = {
    val ids = vector.getDictionaryIds
    val kept = notDropped(ids, positions, count)
    if (sawUndecided) {
      decide(vector, ids, positions, kept, codes)
      notDropped(ids, positions, kept)
    } else kept
  }

  // Once per row. It calls nothing that could change an array, so the compiler keeps them in registers: the call of `verdict` alone made
  // it twice as slow.
  private def notDropped(ids: WritableColumnVector, positions: Array[Int], count: Int): Int = {
    val known = verdicts
    var seen = 0
    var kept = 0
    var i = 0
    if (Positions.areConsecutive(positions, 0, count)) {
      val first = positions(0)
      while (i < count) {
        val of = known(ids.getDictId(first + i)).toInt
        seen |= of
        positions(kept) = first + i
        kept += of & Passes
        i += 1
      }
    } else while (i < count) {
      val p = positions(i)
      val of = known(ids.getDictId(p)).toInt
      seen |= of
      positions(kept) = p
      kept += of & Passes
      i += 1
    }
    sawUndecided = (seen & Undecided & ~Passes) != 0
    kept
  }

  private def decide(
      vector: WritableColumnVector,
      ids: WritableColumnVector,
      positions: Array[Int],
      count: Int,
      codes: Array[Long]
  ): Unit = {
    var i = 0 // once per row of a batch that has an entry for the first time
    while (i < count) {
      val id = ids.getDictId(positions(i))
      if (verdicts(id) == Undecided) verdicts(id) = verdict(vector, positions(i), codes).toByte
      i += 1
    }
  }

  /** 1 if the key at a position may be in the filter, else 0. */
  private def verdict(vector: ColumnVector, position: Int, codes: Array[Long]): Int = {
    one(0) = position
    if (column.codes(vector, one, 1, codes) == 1 && filter.mightContain(codes(position))) 1 else 0
  }
}

private[exec] object DecidedValues {
  final val Unknown = -1

  // Verdicts; 0 drops a row. An entry that is not decided passes for now, and has a bit of its own.
  private final val Passes = 1
  private final val Undecided: Byte = 3
}
