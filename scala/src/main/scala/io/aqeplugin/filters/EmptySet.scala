package io.aqeplugin.filters

/** The filter of a build side without non-null keys: no row can match. */
case object EmptySet extends ExactFilter {
  override def kind: String = FilterKind.Empty.name
  override def sizeBytes: Long = 0L
  override def distinctCodes: Long = 0L
  override def sortedCodes: Array[Long] = Array.emptyLongArray
  override def mightContain(code: Long): Boolean = false
  override def retain(codes: Array[Long], positions: Array[Int], count: Int): Int = 0
}
