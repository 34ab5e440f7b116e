package io.aqeplugin.filters

/** A filter without false positives ''on codes'': `mightContain` is true exactly for the codes that were added.
  *
  * Codes of hashed keys (strings, wide decimals, several columns) may collide, so it is exact on keys only where the code is
  * the value itself.
  */
trait ExactFilter extends KeyFilter {

  /** Number of distinct codes that were added. */
  def distinctCodes: Long

  /** Every code once, in ascending order; each call makes a new array of `distinctCodes` elements. Meant for IN lists: check
    * `distinctCodes` first.
    */
  def sortedCodes: Array[Long]
}
