package io.aqeplugin.filters

/** The filter of a join that compares by order: it contains every code of a range. */
final case class RangeFilter(range: CodeRange) extends KeyFilter {
  override def kind: String = FilterKind.Range.name
  override def sizeBytes: Long = RangeFilter.Bytes
  override def mightContain(code: Long): Boolean = range.contains(code)

  override def retain(codes: Array[Long], positions: Array[Int], count: Int): Int = {
    val min = range.min
    val max = range.max
    var kept = 0
    var i = 0 // once per row
    while (i < count) {
      val position = positions(i)
      val code = codes(position)
      positions(kept) = position
      if (min <= code && code <= max) kept += 1
      i += 1
    }
    kept
  }
}

object RangeFilter {

  /** The size of every such filter. */
  val Bytes: Long = 2L * java.lang.Long.BYTES
}
