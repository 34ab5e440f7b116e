package io.aqeplugin.decide

/** What is known of one side's join keys. A field that was not measured is `None`, never a guess.
  *
  * @param columns
  *   number of key columns
  * @param supported
  *   whether every key column has a type that a filter can hold
  * @param distinct
  *   distinct keys
  * @param nulls
  *   rows whose key contains a null
  * @param min
  *   smallest value of a single integral key
  * @param max
  *   largest value of a single integral key
  * @param histogram
  *   buckets of a single integral key, ascending; neighbours may share an end
  * @param originDistinct
  *   distinct keys of the table that the keys come from, before any predicate or join
  * @param kept
  *   whether the driver has every distinct key already, so that a filter needs no job to collect them
  * @param asRange
  *   whether a filter holds no keys, only the least and the greatest value that may have a partner
  * @param byRow
  *   whether hash joins look the only column up as a row, because it is not an integer
  * @param hashed
  *   whether filters hash the only column, because their codes are not its values
  * @param computed
  *   number of keys that a scan computes from a column for each row that it checks
  */
final case class KeyFacts(
    columns: Int,
    supported: Boolean,
    distinct: Option[Long] = None,
    nulls: Option[Long] = None,
    min: Option[Long] = None,
    max: Option[Long] = None,
    histogram: Seq[KeyBucket] = Nil,
    originDistinct: Option[Long] = None,
    kept: Boolean = false,
    asRange: Boolean = false,
    byRow: Boolean = false,
    hashed: Boolean = false,
    computed: Int = 0
) {

  /** Whether a hash join writes, hashes and compares the key as a row instead of looking up a number. */
  def isLookedUpByRow: Boolean = byRow || columns > 1

  /** How many keys there are at most, by their number or their range. */
  def mostDistinct: Option[Long] = distinct.orElse(min.zip(max).map { case (low, high) =>
    (BigInt(high) - low + 1).max(BigInt(0)).min(BigInt(Long.MaxValue)).toLong
  })

  /** Key columns whose hash a filter check pays for: the first is charged only alone. */
  def hashedColumns: Long = math.max(if (hashed) 1L else 0L, columns - 1L) + math.max(0L, computed.toLong) * KeyFacts.HashesOfComputed
}

object KeyFacts {

  /** To compute a key takes about as long as to hash so many columns: 20 ns, an estimate. */
  private val HashesOfComputed = 5

  // Each is in the event of a decision.
  private val MostBuckets = 256

  /** The keys of several scans whose rows come together, as in a union. None if those of one are not known. */
  def union(ofScans: Seq[Option[KeyFacts]]): Option[KeyFacts] = ofScans.reduceLeftOption { (left, right) =>
    for (one <- left; other <- right) yield one.copy(
      distinct = both(one.distinct, other.distinct)(math.max),
      min = both(one.min, other.min)(math.min),
      max = both(one.max, other.max)(math.max),
      histogram = buckets(one.histogram, other.histogram)
    )
  }.flatten

  private def both(one: Option[Long], other: Option[Long])(of: (Long, Long) => Long): Option[Long] =
    one.zip(other).map { case (left, right) => of(left, right) }

  private def buckets(one: Seq[KeyBucket], other: Seq[KeyBucket]): Seq[KeyBucket] =
    if (one.isEmpty || other.isEmpty || one.size + other.size > MostBuckets) Nil else (one ++ other).sortBy(_.low)
}

/** One bucket of a histogram: `rows` rows have keys in `[low, high]`. */
final case class KeyBucket(low: Long, high: Long, rows: Long)
