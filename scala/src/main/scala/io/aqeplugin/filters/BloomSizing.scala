package io.aqeplugin.filters

import java.util.concurrent.atomic.AtomicReference

/** The size and the false-positive rate of split-block Bloom filters.
  *
  * A filter of `B` blocks over `n` keys puts a Poisson-distributed number of keys into each block, `λ = n / B` on average.
  * A block has 4 lanes of 64 bits, and each key sets one bit in each lane. An absent key that falls on a block with `i`
  * keys passes with probability `(1 - (63/64)^i)^4`, so the false-positive rate is
  * {{{
  *   f(λ) = Σ_i  e^-λ λ^i / i!  ·  (1 - (63/64)^i)^4
  * }}}
  * (F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", WEA 2007, section 3, for lanes
  * instead of free bits). The textbook formula for unblocked Bloom filters ignores the spread of `i` and promises too little.
  */
object BloomSizing {

  /** Bits of one lane; a key sets one of them. */
  private[filters] final val LaneBits = 64

  /** Lanes of one block. */
  private[filters] final val Lanes = 4

  final val BlockBytes: Int = Lanes * LaneBits / 8

  /** Block counts are multiples of a power of two, as far as that costs less than 1/128 more memory, so that a filter with fewer keys than
    * expected can be halved as often.
    */
  private final val MaxGranule = 1024L
  private final val MaxKeysInBlock = 600

  // passRates(i): chance that an absent key passes a block of i keys.
  private val passRates: Array[Double] = Array.tabulate(MaxKeysInBlock)(i => math.pow(1 - math.pow(1 - 1.0 / LaneBits, i), Lanes))

  /** Expected share of absent keys that pass a filter of `blocks` blocks over `keys` distinct keys. */
  def falsePositiveRate(keys: Long, blocks: Long): Double = rateAtLoad(keys.toDouble / blocks)

  /** The smallest number of blocks (up to rounding) with which `keys` distinct keys stay at or below `rate`; at least 1. */
  def blocksFor(keys: Long, rate: Double): Long = {
    val blocks = math.max(1L, math.ceil(keys / loadFor(rate)).toLong)
    val granule = math.min(MaxGranule, java.lang.Long.highestOneBit(math.max(1L, blocks / 128)))
    (blocks + granule - 1) / granule * granule
  }

  /** Bytes of a filter of `keys` distinct keys at `rate`; `Long.MaxValue` if the size overflows. */
  def bytesFor(keys: Long, rate: Double): Long = {
    val blocks = blocksFor(keys, rate)
    if (blocks > Long.MaxValue / BlockBytes) Long.MaxValue else blocks * BlockBytes
  }

  private[filters] def rateAtLoad(load: Double): Double =
    if (load <= 0) 0.0
    else if (load > MaxKeysInBlock / 2) 1.0
    else {
      // Terms by recurrence; e^-load does not underflow below a load of 700.
      var poisson = math.exp(-load)
      var sum = 0.0
      var i = 0
      while (i < MaxKeysInBlock) {
        sum += poisson * passRates(i)
        i += 1
        poisson *= load / i
      }
      math.min(1.0, sum)
    }

  private final case class LoadOfRate(rate: Double, load: Double)
  private val lastLoad = new AtomicReference(LoadOfRate(1.0, MaxKeysInBlock / 2.0))

  /** The largest load (keys per block) at or below `rate`. Cached, because planning asks for it for every filter and nearly always with the
    * session's one rate.
    */
  private def loadFor(rate: Double): Double = {
    val last = lastLoad.get
    if (last.rate == rate) {
      last.load
    } else {
      val load = bisectedLoad(rate)
      lastLoad.set(LoadOfRate(rate, load))
      load
    }
  }

  /** By bisection: the rate increases with the load. */
  private def bisectedLoad(rate: Double): Double = {
    val (low, _) = (1 to 60).foldLeft((0.0, MaxKeysInBlock / 2.0)) { case ((low, high), _) =>
      val middle = (low + high) / 2
      if (rateAtLoad(middle) <= rate) (middle, high) else (low, middle)
    }
    low
  }
}
