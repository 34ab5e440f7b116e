package io.aqeplugin.filters

/** A filter without false positives ''on codes'': `mightContain` is true exactly for the codes that were put in.
  *
  * Codes of hashed keys (strings, wide decimals, several columns) may collide, so it is exact on keys only where the code is
  * the value itself.
  */
trait ExactFilter extends KeyFilter {

  /** How many different codes were put in. */
  def distinctCodes: Long

  /** Every code, ascending, each once; a new array of `distinctCodes` elements on each call. Meant for IN lists: ask
    * `distinctCodes` first.
    */
  def sortedCodes: Array[Long]
}
