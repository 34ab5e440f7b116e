package io.aqeplugin.limit

import java.util.PriorityQueue

import org.apache.spark.sql.catalyst.InternalRow

private[limit] object TopRows {

  /** Copies of the first `limit` rows, sorted. */
  def first(rows: Iterator[InternalRow], limit: Int, ordering: Ordering[InternalRow]): Array[InternalRow] = {
    val last = new PriorityQueue[InternalRow](ordering.reversed)
    while (limit > 0 && rows.hasNext) {
      val row = rows.next()
      if (last.size < limit) { val _ = last.add(row.copy()) }
      else if (ordering.compare(row, last.peek) < 0) {
        val _ = last.poll()
        val _ = last.add(row.copy())
      }
    }
    val found = last.toArray(new Array[InternalRow](0))
    java.util.Arrays.sort(found, ordering)
    found
  }
}
