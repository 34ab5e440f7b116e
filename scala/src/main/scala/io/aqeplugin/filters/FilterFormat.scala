package io.aqeplugin.filters

import java.nio.ByteBuffer

import io.aqeplugin.filters.Envelope.{putLongs, restAsLongs, valid}

/** The stored form in which a finished filter is broadcast: an [[Envelope]] with magic `AQEF` around
  *
  *   - `empty`: nothing
  *   - `exact`: the codes, strictly ascending
  *   - `range_bitmap`: the number of the first word, the words
  *   - `split_block_bloom`: the words
  *   - `range`: smallest code, largest code
  *
  * Each number is a 64-bit word. `read` returns what was written or an error, never an exception and never a different filter: a CRC32C
  * protects every byte, and bytes that pass it are still validated as a filter of their kind. The format shares nothing with Spark's own
  * sketches.
  */
object FilterFormat {

  /** @throws IllegalArgumentException
    *   for a filter whose kind is not in [[FilterKind.All]]
    */
  def write(filter: KeyFilter): Array[Byte] = filter match {
    case EmptySet               => Envelope.seal(FilterKind.Empty.formatId, 0)(_ => ())
    case set: ExactSet          => writeWords(FilterKind.Exact, Array.emptyLongArray, set.sortedCodes)
    case bitmap: RangeBitmap    => writeWords(FilterKind.RangeBitmap, Array(bitmap.firstWord), bitmap.words)
    case bloom: SplitBlockBloom => writeWords(FilterKind.SplitBlockBloom, Array.emptyLongArray, SplitBlockBloom.unpadded(bloom.words))
    case range: RangeFilter     => writeWords(FilterKind.Range, Array(range.range.min, range.range.max), Array.emptyLongArray)
    case other                  => throw new IllegalArgumentException(s"a filter of kind ${other.kind} has no stored form")
  }

  def read(bytes: Array[Byte]): Either[String, KeyFilter] = Envelope.open(bytes).flatMap { case (kindId, payload) =>
    FilterKind.All.find(_.formatId == kindId) match {
      case Some(FilterKind.Empty)           => valid(payload.remaining == 0, "an empty set has no payload").map(_ => EmptySet)
      case Some(FilterKind.Exact)           => readExact(payload)
      case Some(FilterKind.RangeBitmap)     => readBitmap(payload)
      case Some(FilterKind.SplitBlockBloom) => readBloom(payload)
      case Some(FilterKind.Range)           => readRange(payload)
      case None                             => Left(s"this release does not know kind $kindId")
    }
  }

  private def writeWords(kind: FilterKind, head: Array[Long], words: Array[Long]): Array[Byte] =
    Envelope.seal(kind.formatId, (head.length + words.length) * java.lang.Long.BYTES) { buffer =>
      putLongs(buffer, head)
      putLongs(buffer, words)
    }

  private def readExact(payload: ByteBuffer): Either[String, KeyFilter] = for {
    codes <- readCodes(payload)
    set <- ExactSet.ofSorted(codes).toRight("an exact set has a code")
  } yield set

  /** Strictly ascending codes, as many as an exact set may have. */
  private def readCodes(payload: ByteBuffer): Either[String, Array[Long]] = for {
    codes <- restAsLongs(payload)
    _ <- valid(codes.length <= ExactSet.MaxKeys, s"an exact set has at most ${ExactSet.MaxKeys} codes, not ${codes.length}")
    _ <- valid(SortedCodes.isStrictlyAscending(codes), "the codes of an exact set do not ascend")
  } yield codes

  private def readBitmap(payload: ByteBuffer): Either[String, RangeBitmap] = for {
    _ <- valid(payload.remaining >= 2 * java.lang.Long.BYTES, "a bitmap has a first word number and a word")
    first = payload.getLong()
    words <- restAsLongs(payload)
    _ <- valid(words.length <= RangeBitmap.MaxWords, s"a bitmap has at most ${RangeBitmap.MaxWords} words, not ${words.length}")
    _ <- valid(
      first >= (Long.MinValue >> 6) && first <= (Long.MaxValue >> 6) - (words.length - 1),
      s"words from $first on do not hold 64-bit codes"
    )
    _ <- valid(words.head != 0L && words.last != 0L, "a bitmap starts and ends with a set bit")
    bitmap <- RangeBitmap.trimmed(first, words).toRight("a bitmap has a code")
  } yield bitmap

  private def readBloom(payload: ByteBuffer): Either[String, KeyFilter] = for {
    words <- restAsLongs(payload)
    _ <- valid(words.nonEmpty && words.length % SplitBlockBloom.BlockWords == 0, s"${words.length} words are not a whole number of blocks")
    _ <- valid(words.length.toLong * java.lang.Long.BYTES <= FilterLimits.HardMaxBytes, s"${words.length} words are over the hard cap")
  } yield new SplitBlockBloom(SplitBlockBloom.padded(words))

  private def readRange(payload: ByteBuffer): Either[String, KeyFilter] = for {
    bounds <- restAsLongs(payload)
    _ <- valid(bounds.length == 2, "a range has two bounds")
    _ <- valid(bounds(0) <= bounds(1), s"the range ${bounds(0)} to ${bounds(1)} is empty")
  } yield RangeFilter(CodeRange(bounds(0), bounds(1)))
}
