package io.aqeplugin.storage

/** Keys against the bounds of files. */
private[storage] object KeyMeeting {

  /** Whether one of some ranges, disjoint and in ascending order, meets another, of which an end may not be known. One that ends before it begins is not
    * believed.
    */
  def of[A: Ordering](ranges: IndexedSeq[(A, A)]): (Option[A], Option[A]) => Boolean = {
    val (starts, ends) = (ranges.map(_._1), ranges.map(_._2))
    (low, high) => {
      val first = low.fold(0)(ends.search(_).insertionPoint)
      val isBelieved = low.forall(begin => high.forall(Ordering[A].lteq(begin, _)))
      !isBelieved || first < ranges.size && high.forall(Ordering[A].gteq(_, starts(first)))
    }
  }
}
