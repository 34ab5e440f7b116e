package io.aqeplugin.filters

import java.util.Arrays

/** A hash set of at least one code: buckets of four slots, at most half of all slots taken, the next bucket when one is full.
  *
  * A check compares with all four slots of the code's bucket at once and takes a branch only when the bucket is full, which
  * few are. Slots of a bucket are taken in order, so it is full when its last slot is.
  *
  * Empty slots hold `filler`, which is itself a member and has no slot of its own. A search for it ends at the first empty
  * slot and finds it there; a search for any other code that ends there missed. So no code is special, 0 and `Long.MinValue`
  * included, and no second array says which slots are taken.
  *
  * @param table
  *   a power of two of slots
  */
final class ExactSet private (table: Array[Long], filler: Long, range: CodeRange, override val distinctCodes: Long) extends ExactFilter {
  import ExactSet._

  private val shift = shiftOf(table)

  override def kind: String = FilterKind.Exact.name

  override def sizeBytes: Long = table.length.toLong * java.lang.Long.BYTES

  override def codeRange: Option[CodeRange] = Some(range)

  override def sortedCodes: Array[Long] = {
    val codes = filler +: table.filter(_ != filler)
    Arrays.sort(codes)
    codes
  }

  override def mightContain(code: Long): Boolean = {
    val slot = bucketOf(code, shift)
    val absent = absentBit(table, slot, code)
    if (absent == 0) true else table(slot + BucketSlots - 1) != filler && search(table, filler, code) >= 0
  }

  // Hot loop: fields are copied to locals, since the JIT compiler may not keep them in registers across array stores.
  override def retain(codes: Array[Long], positions: Array[Int], count: Int): Int = {
    val slots = table
    val empty = filler
    val bits = shift
    var kept = 0
    var i = 0
    while (i < count) {
      val position = positions(i)
      val code = codes(position)
      val slot = bucketOf(code, bits)
      val absent = absentBit(slots, slot, code)
      positions(kept) = position
      // One rare branch: absent from a bucket that is full.
      if ((absent & nonZeroBit(slots(slot + BucketSlots - 1) ^ empty)) == 0) kept += 1 - absent
      else if (search(slots, empty, code) >= 0) kept += 1
      i += 1
    }
    kept
  }
}

object ExactSet {

  /** The set of `codes`, which may hold duplicates and come in any order.
    *
    * @return
    *   absent when there is no code: that is [[EmptySet]]
    */
  def of(codes: Array[Long]): Option[ExactSet] = {
    val sorted = codes.clone()
    Arrays.sort(sorted)
    ofSorted(SortedCodes.distinct(sorted))
  }

  /** As [[of]], for codes that are strictly ascending. */
  private[filters] def ofSorted(sorted: Array[Long]): Option[ExactSet] =
    if (sorted.isEmpty) None
    else {
      val table = Array.fill(slotsFor(sorted.length))(sorted.head)
      // The head is the filler and needs no slot.
      (1 until sorted.length).foreach(i => insert(table, sorted.head, sorted(i)))
      Some(new ExactSet(table, sorted.head, CodeRange(sorted.head, sorted.last), sorted.length.toLong))
    }

  /** Bytes of memory of a set of `keys` different codes: 16 to 32 a code. */
  def bytesFor(keys: Int): Long = slotsFor(keys).toLong * java.lang.Long.BYTES

  /** How many codes a set of at most `bytes` holds for certain. */
  private[filters] def keysWithin(bytes: Long): Int = {
    val slots = java.lang.Long.highestOneBit(bytes / java.lang.Long.BYTES)
    if (slots < BucketSlots) 0 else math.min(slots / 2, MaxKeys.toLong).toInt
  }

  /** Most codes that a set can hold. */
  final val MaxKeys: Int = 1 << 26

  private[filters] def slotsFor(keys: Int): Int = {
    require(keys >= 0 && keys <= MaxKeys, s"$keys keys, an exact set holds 0 to $MaxKeys")
    math.max(BucketSlots, Integer.highestOneBit(math.max(1, 2 * keys - 1)) << 1)
  }

  /** Puts `code` into `table` unless it is there; returns whether it was new. */
  private[filters] def insert(table: Array[Long], filler: Long, code: Long): Boolean = {
    val found = search(table, filler, code)
    if (found < 0) table(-1 - found) = code
    found < 0
  }

  private final val BucketSlots = 4

  /** The slot that holds `code`, or `-1 - slot` of the empty slot that ended the search; the filler is found in that slot. */
  private def search(table: Array[Long], filler: Long, code: Long): Int = {
    val mask = table.length - 1
    var slot = bucketOf(code, shiftOf(table))
    while (table(slot) != code && table(slot) != filler) slot = (slot + 1) & mask
    if (table(slot) == code) slot else -1 - slot
  }

  /** First slot of the bucket in which a code belongs; `shift` leaves as many bits as number the buckets. */
  private def bucketOf(code: Long, shift: Int): Int = ((KeyHasher.mix(code) >>> 1) >>> shift).toInt * BucketSlots

  // One less than the width, for the bit that bucketOf drops first: a shift by all 64 bits, for a single bucket, would be none.
  private def shiftOf(table: Array[Long]): Int = java.lang.Long.SIZE - 1 - Integer.numberOfTrailingZeros(table.length / BucketSlots)

  /** 1 when none of the bucket's four slots holds `code`, else 0. */
  private def absentBit(table: Array[Long], slot: Int, code: Long): Int =
    nonZeroBit(table(slot) ^ code) & nonZeroBit(table(slot + 1) ^ code) & nonZeroBit(table(slot + 2) ^ code) & nonZeroBit(
      table(slot + 3) ^ code
    )

  private def nonZeroBit(x: Long): Int = ((x | -x) >>> 63).toInt
}
