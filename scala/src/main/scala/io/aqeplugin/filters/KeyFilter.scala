package io.aqeplugin.filters

/** A set of join keys with false positives but no false negatives.
  *
  * A key is a 64-bit ''code'': the value itself for a single integral, date, timestamp, boolean or short decimal key, a
  * 64-bit hash ([[KeyHasher]]) for everything else. Null keys have no code; callers drop them first.
  * Instances are immutable and safe to share between threads.
  */
trait KeyFilter {

  /** `empty`, `exact`, `range_bitmap`, `split_block_bloom` or `range`; written to the decision log. */
  def kind: String

  /** Bytes of memory this filter holds. */
  def sizeBytes: Long

  /** Whether a key with this code may be in the set; `false` is always right. */
  def mightContain(code: Long): Boolean

  /** Keeps the positions whose key may be in the set. Allocates at most 2 KB, whatever `count` is; for single keys there is
    * [[mightContain]], which allocates nothing.
    *
    * @param codes
    *   key codes, indexed by row
    * @param positions
    *   in: row numbers to check, strictly ascending; out: the row numbers that may match, in the same order, compacted to the front
    * @param count
    *   number of positions to check
    * @return
    *   number of positions kept
    */
  def retain(codes: Array[Long], positions: Array[Int], count: Int): Int
}
