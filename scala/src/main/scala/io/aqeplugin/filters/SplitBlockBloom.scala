package io.aqeplugin.filters

/** A Bloom filter whose bits for one key are in one block of 32 bytes, so that a check costs one cache miss.
  *
  * A block is four words of 64 bits and a key sets one bit in each word (the split blocks of F. Putze, P. Sanders, J. Singler,
  * "Cache-, Hash- and Space-Efficient Bloom Filters", WEA 2007, and of Parquet, which has eight words of 32 bits). Four
  * wide lanes instead of eight narrow ones halve the time of a check where there are no vector instructions for it, and
  * cost 5 % more memory at a false-positive rate of 1 %, none at 2 % and more, a third at 0.1 %.
  *
  * @param words
  *   two padding words, then four words per block
  */
final class SplitBlockBloom private[filters] (private[filters] val words: Array[Long]) extends KeyFilter {
  import SplitBlockBloom._

  override def kind: String = FilterKind.SplitBlockBloom.name

  override def sizeBytes: Long = bytesOf(words)

  /** Number of blocks; not necessarily a power of two. */
  def blocks: Int = blocksOf(words)

  /** False-positive rate, computed from the bits that are really set: the mean over the blocks of the product of the lanes' shares of set
    * bits.
    */
  def falsePositiveRate: Double = rateOf(words)

  override def mightContain(code: Long): Boolean = {
    val hash = KeyHasher.mix(code)
    hit(words, firstWord(hash, blocks.toLong), hash) == 1
  }

  override def retain(codes: Array[Long], positions: Array[Int], count: Int): Int = {
    val hashes = new Array[Long](math.min(count, ChunkKeys))
    var kept = 0
    var from = 0
    while (from < count) {
      val length = math.min(count - from, ChunkKeys)
      kept =
        if (Positions.areConsecutive(positions, from, length)) retainRows(words, codes, hashes, positions(from), length, positions, kept)
        else retainPositions(words, codes, hashes, from, length, positions, kept)
      from += length
    }
    kept
  }

  /** The smallest filter of the same keys that still has at most `rate`, made by halving; `this` if it cannot shrink.
    *
    * Halving a filter is exact: a key's block number is `⌊h · blocks / 2^32⌋`, and `⌊⌊2x⌋ / 2⌋ = ⌊x⌋`, so the keys of
    * blocks `2b` and `2b + 1` are those of block `b` of a filter half the size.
    */
  private[filters] def compacted(rate: Double): SplitBlockBloom =
    if (blocks % 2 != 0) this
    else {
      val half = halved(words)
      if (rateOf(half) <= rate) new SplitBlockBloom(half).compacted(rate) else this
    }
}

object SplitBlockBloom {
  private[filters] final val BlockWords = BloomSizing.BlockBytes / java.lang.Long.BYTES

  // Two words and the 16 bytes of an array's header put the blocks of an array that starts at a multiple of 32 bytes, as large
  // ones do, on multiples of 32 bytes: otherwise every second block would lie on two cache lines.
  private final val PadWords = 2

  /** Number of keys that are hashed ahead: their hashes, 2 KB, stay in the first-level cache. */
  private final val ChunkKeys = 256

  /** The filter of `codes`, sized for exactly that many distinct codes; none when there is no code. */
  def of(codes: Array[Long], falsePositiveRate: Double): Option[SplitBlockBloom] =
    if (codes.isEmpty) None
    else {
      val words = emptyWords(BloomSizing.blocksFor(codes.length.toLong, falsePositiveRate))
      codes.foreach(insert(words, _))
      Some(new SplitBlockBloom(words))
    }

  // All keys of a chunk are hashed before the first is looked up. The second loop is then so short that the processor works on several keys
  // at once and their cache misses overlap. Arithmetic instead of a branch, which would be mispredicted for most keys. Writing first is safe,
  // as never more rows are kept than were looked at.

  /** Checks `length` consecutive rows from `first` on, and adds those that pass to the `before` kept positions. */
  private def retainRows(
      words: Array[Long],
      codes: Array[Long],
      hashes: Array[Long],
      first: Int,
      length: Int,
      positions: Array[Int],
      before: Int
  ): Int = {
    val blockCount = blocksOf(words).toLong
    var kept = before
    var i = 0
    while (i < length) {
      hashes(i) = KeyHasher.mix(codes(first + i))
      i += 1
    }
    i = 0
    while (i < length) {
      positions(kept) = first + i
      kept += hit(words, firstWord(hashes(i), blockCount), hashes(i))
      i += 1
    }
    kept
  }

  /** Checks the `length` positions from `from` on, and adds those that pass to the `before` kept positions. */
  private def retainPositions(
      words: Array[Long],
      codes: Array[Long],
      hashes: Array[Long],
      from: Int,
      length: Int,
      positions: Array[Int],
      before: Int
  ): Int = {
    val blockCount = blocksOf(words).toLong
    var kept = before
    var i = 0
    while (i < length) {
      hashes(i) = KeyHasher.mix(codes(positions(from + i)))
      i += 1
    }
    i = 0
    while (i < length) {
      val position = positions(from + i)
      positions(kept) = position
      kept += hit(words, firstWord(hashes(i), blockCount), hashes(i))
      i += 1
    }
    kept
  }

  private[filters] def emptyWords(blocks: Long): Array[Long] = {
    require(blocks >= 1 && blocks * BloomSizing.BlockBytes <= FilterLimits.HardMaxBytes, s"$blocks blocks")
    new Array[Long](PadWords + blocks.toInt * BlockWords)
  }

  private[filters] def insert(words: Array[Long], code: Long): Unit = {
    val hash = KeyHasher.mix(code)
    val at = firstWord(hash, blocksOf(words).toLong)
    words(at) |= 1L << hash
    words(at + 1) |= 1L << (hash >>> 6)
    words(at + 2) |= 1L << (hash >>> 12)
    words(at + 3) |= 1L << (hash >>> 18)
  }

  /** Index of the block's first word: the upper half of the hash, scaled to the number of blocks without a division. */
  private def firstWord(hash: Long, blocks: Long): Int = PadWords + (((hash >>> 32) * blocks) >>> 32).toInt * BlockWords

  /** 1 when all four bits of the key are set, else 0. The bit numbers are the lowest 24 bits of the hash, which the block number does not
    * use. Shifts count modulo 64, so they need no mask.
    */
  private def hit(words: Array[Long], at: Int, hash: Long): Int =
    ((words(at) >>> hash) & (words(at + 1) >>> (hash >>> 6)) & (words(at + 2) >>> (hash >>> 12)) & (words(
      at + 3
    ) >>> (hash >>> 18))).toInt & 1

  /** Number of blocks, without the padding. */
  private[filters] def blocksOf(words: Array[Long]): Int = words.length / BlockWords

  private[filters] def bytesOf(words: Array[Long]): Long = blocksOf(words).toLong * BloomSizing.BlockBytes

  /** The words of the blocks without the padding: the stored form. */
  private[filters] def unpadded(words: Array[Long]): Array[Long] = words.drop(PadWords)

  private[filters] def padded(blockWords: Array[Long]): Array[Long] = {
    val words = new Array[Long](PadWords + blockWords.length)
    System.arraycopy(blockWords, 0, words, PadWords, blockWords.length)
    words
  }

  private[filters] def halved(words: Array[Long]): Array[Long] = {
    val half = emptyWords(blocksOf(words) / 2L)
    var at = PadWords
    while (at < half.length) {
      val left = PadWords + (at - PadWords) * 2
      var w = 0
      while (w < BlockWords) {
        half(at + w) = words(left + w) | words(left + BlockWords + w)
        w += 1
      }
      at += BlockWords
    }
    half
  }

  private[filters] def rateOf(words: Array[Long]): Double = {
    var sum = 0.0
    var at = PadWords
    while (at < words.length) {
      var setBits = 1L
      var w = at
      while (w < at + BlockWords) {
        setBits *= java.lang.Long.bitCount(words(w))
        w += 1
      }
      // The product of four counts up to 64 is at most 2^24; the divisor makes it a product of shares.
      sum += setBits
      at += BlockWords
    }
    sum / (1L << 24).toDouble / blocksOf(words)
  }
}
