package io.aqeplugin.decide

/** What is known of one side's join keys. A field that was not measured is `None`, never a guess. */
@Told(doc = "what is known of one side's join keys")
final case class KeyFacts(
    @Told(doc = "number of key columns", unit = "columns") columns: Int,
    @Told(doc = "whether every column has a type that a filter can hold") supported: Boolean,
    @Told(doc = "distinct keys", unit = "keys") distinct: Option[Long] = None,
    @Told(doc = "rows whose key contains a null", unit = "rows") nulls: Option[Long] = None,
    @Told(doc = "smallest value of a single integral key") min: Option[Long] = None,
    @Told(doc = "largest value of a single integral key") max: Option[Long] = None,
    @Told(doc = "buckets of a single integral key, ascending") histogram: Seq[KeyBucket] = Nil,
    @Told(doc = "distinct keys of the table that the keys come from", unit = "keys") originDistinct: Option[Long] = None,
    @Told(doc = "whether the driver has every distinct key, so that a filter needs no job", optional = true) kept: Boolean = false,
    @Told(doc = "whether a filter holds only the least and the greatest value", optional = true) asRange: Boolean = false,
    @Told(doc = "whether hash joins look the only column up as a row, because it is not an integer", optional = true) byRow: Boolean =
      false,
    @Told(doc = "whether filters hash the only column, because their codes are not its values", optional = true) hashed: Boolean = false,
    @Told(doc = "keys that a scan computes from a column", unit = "keys", optional = true) computed: Int = 0
) {

  /** Whether a hash join writes, hashes and compares the key as a row instead of looking up a number. */
  def isLookedUpByRow: Boolean = byRow || columns > 1

  /** Whether a sort compares the key's rows. Spark sorts by one number without comparing. */
  def isSortedByRow: Boolean = hashed || columns > 1

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
@Told(doc = "one bucket of an equi-height histogram")
final case class KeyBucket(
    @Told(doc = "smallest key") low: Long,
    @Told(doc = "largest key") high: Long,
    @Told(doc = "rows whose key is between the two, both included", unit = "rows") rows: Long
)
