package io.aqeplugin.filters

import java.lang.Long.compareUnsigned

import scala.collection.mutable

/** Few ranges that hold all of many keys. */
object KeyRanges {

  /** At most `most` disjoint ranges in ascending order that together contain every code of `sorted`, and of all such ranges leave out most: they
    * end at the `most - 1` widest gaps between neighbours. Of equally wide gaps the first are taken.
    *
    * @param sorted
    *   strictly ascending
    * @param most
    *   at least 1
    * @return
    *   none for no code; fewer than `most` when fewer gaps leave out anything
    */
  def of(sorted: Array[Long], most: Int): Seq[CodeRange] =
    if (sorted.isEmpty) Nil
    else {
      val starts = 0 +: widest(sorted, most - 1)
      starts.zip(starts.drop(1) :+ sorted.length).map { case (from, until) => CodeRange(sorted(from), sorted(until - 1)) }
    }

  /** The positions after the widest gaps, in ascending order. */
  private def widest(sorted: Array[Long], most: Int): Seq[Int] = {
    // A difference may exceed half of the code space, so it is compared as an unsigned number.
    def gap(at: Int): Long = sorted(at) - sorted(at - 1)
    val narrowestFirst: Ordering[Int] = (a, b) => {
      val byGap = compareUnsigned(gap(b), gap(a))
      if (byGap != 0) byGap else Integer.compare(a, b)
    }
    val kept = mutable.PriorityQueue.empty[Int](narrowestFirst)
    var at = 1 // once per key
    while (at < sorted.length) {
      if (gap(at) != 1L && most > 0) {
        if (kept.size < most) kept.enqueue(at)
        else if (compareUnsigned(gap(at), gap(kept.head)) > 0) {
          kept.dequeue()
          kept.enqueue(at)
        }
      }
      at += 1
    }
    kept.toSeq.sorted
  }
}
