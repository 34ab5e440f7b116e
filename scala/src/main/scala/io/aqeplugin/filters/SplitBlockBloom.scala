package io.aqeplugin.filters

/** A Bloom filter whose eight bits for one key lie in one block of 32 bytes, so that a check costs one cache miss.
  *
  * A block has eight lanes of 32 bits and a key sets one bit in each lane (F. Putze, P. Sanders, J. Singler, "Cache-, Hash-
  * and Space-Efficient Bloom Filters", WEA 2007; the lanes are those of Parquet's split-block filters, the hashing is
  * not). Lanes lie in pairs in 64-bit words: a check loads four words and takes no branch.
  *
  * @param words
  *   four words a block
  */
final class SplitBlockBloom private[filters] (private[filters] val words: Array[Long], private[filters] val range: CodeRange)
    extends KeyFilter {
  import SplitBlockBloom._

  override def kind: String = FilterKind.SplitBlockBloom.name

  override def sizeBytes: Long = words.length.toLong * java.lang.Long.BYTES

  override def codeRange: Option[CodeRange] = Some(range)

  /** Number of blocks; any number, not only a power of two. */
  def blocks: Int = words.length / BlockWords

  /** Share of absent keys that pass, from the bits that are really set: the mean over the blocks of the product of how full
    * their lanes are.
    */
  def falsePositiveRate: Double = rateOf(words)

  override def mightContain(code: Long): Boolean = missing(words, blocks.toLong, KeyHasher.mix(code)) == 0L

  override def retain(codes: Array[Long], positions: Array[Int], count: Int): Int = {
    val bits = words
    val blockCount = blocks.toLong
    var kept = 0
    var i = 0
    while (i < count) {
      val position = positions(i)
      val absent = missing(bits, blockCount, KeyHasher.mix(codes(position)))
      positions(kept) = position
      // 1 when no bit is missing: arithmetic instead of a branch that would be mispredicted for most keys.
      kept += 1 - ((absent | -absent) >>> 63).toInt
      i += 1
    }
    kept
  }

  /** The smallest filter of the same keys that still keeps to `rate`, made by halving; `this` when it cannot shrink.
    *
    * Halving a filter is exact: a key's block number is `⌊h · blocks / 2^32⌋`, and `⌊⌊2x⌋ / 2⌋ = ⌊x⌋`, so the keys of
    * blocks `2b` and `2b + 1` are those of block `b` of a filter half the size.
    */
  private[filters] def compacted(rate: Double): SplitBlockBloom =
    if (blocks % 2 != 0) this
    else {
      val half = halved(words)
      if (rateOf(half) <= rate) new SplitBlockBloom(half, range).compacted(rate) else this
    }
}

object SplitBlockBloom {
  private[filters] final val BlockWords = BloomSizing.BlockBytes / java.lang.Long.BYTES

  /** The filter of `codes`, sized for exactly that many different codes; absent when there is none. */
  def of(codes: Array[Long], falsePositiveRate: Double): Option[SplitBlockBloom] =
    if (codes.isEmpty) None
    else {
      val words = emptyWords(BloomSizing.blocksFor(codes.length.toLong, falsePositiveRate))
      codes.foreach(insert(words, _))
      Some(new SplitBlockBloom(words, CodeRange(codes.min, codes.max)))
    }

  private[filters] def emptyWords(blocks: Long): Array[Long] = {
    require(blocks >= 1 && blocks * BloomSizing.BlockBytes <= FilterLimits.HardMaxBytes, s"$blocks blocks")
    new Array[Long](blocks.toInt * BlockWords)
  }

  private[filters] def insert(words: Array[Long], code: Long): Unit = {
    val hash = KeyHasher.mix(code)
    val at = firstWord(hash, words.length / BlockWords.toLong)
    val f = fields(hash)
    words(at) |= pair(f)
    words(at + 1) |= pair(f >>> 12)
    words(at + 2) |= pair(f >>> 24)
    words(at + 3) |= pair(f >>> 36)
  }

  /** The bits of the key that its block lacks, laid over each other; 0 when it lacks none. */
  private def missing(words: Array[Long], blocks: Long, hash: Long): Long = {
    val at = firstWord(hash, blocks)
    val f = fields(hash)
    (pair(f) & ~words(at)) | (pair(f >>> 12) & ~words(at + 1)) | (pair(f >>> 24) & ~words(at + 2)) | (pair(f >>> 36) & ~words(at + 3))
  }

  /** Index of the block's first word: the upper half of the hash, scaled to the number of blocks without a division. */
  private def firstWord(hash: Long, blocks: Long): Int = (((hash >>> 32) * blocks) >>> 32).toInt * BlockWords

  /** Eight bit numbers of 6 bits each, the lowest first, from the lower half of the hash, which the block number does not
    * use. Five bits of each are random; the sixth alternates, which puts the even ones into a word's lower lane and the odd
    * ones into its upper lane.
    */
  private def fields(hash: Long): Long = (((hash & 0xffffffffL) * FieldSpread) >>> 16) & RandomBits | UpperLanes

  /** One bit in each lane of a word. A shift counts modulo 64, so the fields above need no mask. */
  private def pair(fields: Long): Long = (1L << fields) | (1L << (fields >>> 6))

  // Fractional bits of the golden ratio, as multiplier of Fibonacci hashing.
  private final val FieldSpread = 0x9e3779b97f4a7c15L
  private final val RandomBits = 0x7df7df7df7dfL
  private final val UpperLanes = 0x800800800800L

  private[filters] def halved(words: Array[Long]): Array[Long] = {
    val half = new Array[Long](words.length / 2)
    var i = 0
    while (i < half.length) {
      val left = i / BlockWords * 2 * BlockWords + i % BlockWords
      half(i) = words(left) | words(left + BlockWords)
      i += 1
    }
    half
  }

  private[filters] def rateOf(words: Array[Long]): Double = {
    var sum = 0.0
    var at = 0
    while (at < words.length) {
      var setBits = 1L
      var w = at
      while (w < at + BlockWords) {
        setBits *= Integer.bitCount(words(w).toInt).toLong * Integer.bitCount((words(w) >>> 32).toInt)
        w += 1
      }
      // The product of eight counts up to 32 is at most 2^40; the divisor makes it a product of shares.
      sum += setBits
      at += BlockWords
    }
    sum / (1L << 40).toDouble / (words.length / BlockWords)
  }
}
