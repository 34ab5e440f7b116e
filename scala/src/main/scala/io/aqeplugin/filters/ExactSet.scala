package io.aqeplugin.filters

import java.util.Arrays

/** A hash set of at least one code: buckets of four slots, at most half of all slots taken; a full bucket overflows into the next.
  *
  * A check compares all four slots of the code's bucket at once and branches only when the bucket is full, which is rare. The slots of a
  * bucket are filled in order, so a bucket is full when its last slot is taken.
  *
  * Empty slots hold `filler`, which is itself a member and has no slot of its own. A search for `filler` finds it in the first empty slot;
  * a search for any other code that ends there has missed. So no code is special, 0 and `Long.MinValue` included, and no second array marks
  * the taken slots.
  *
  * @param table
  *   the slots; their number is a power of two
  */
final class ExactSet private (table: Array[Long], filler: Long, override val distinctCodes: Long) extends ExactFilter {
  import ExactSet._

  private val shift = shiftOf(table)

  override def kind: String = FilterKind.Exact.name

  override def sizeBytes: Long = table.length.toLong * java.lang.Long.BYTES

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
      // A rare branch: the code is not in its bucket, and the bucket is full.
      if ((absent & nonZeroBit(slots(slot + BucketSlots - 1) ^ empty)) == 0) kept += 1 - absent
      else if (search(slots, empty, code) >= 0) kept += 1
      i += 1
    }
    kept
  }
}

object ExactSet {

  /** The set of `codes`, in any order and possibly with duplicates.
    *
    * @return
    *   none when there is no code: that is [[EmptySet]]
    */
  def of(codes: Array[Long]): Option[ExactSet] =
    ofSorted(SortedCodes.ofAll(codes))

  /** Like [[of]], for codes that are strictly ascending. */
  private[filters] def ofSorted(sorted: Array[Long]): Option[ExactSet] =
    if (sorted.isEmpty) None
    else {
      val table = Array.fill(slotsFor(sorted.length))(sorted.head)
      // The head is the filler and needs no slot.
      (1 until sorted.length).foreach(i => insert(table, sorted.head, sorted(i)))
      Some(new ExactSet(table, sorted.head, sorted.length.toLong))
    }

  /** Bytes of memory of a set of `keys` distinct codes: 16 to 32 per code. */
  def bytesFor(keys: Int): Long = slotsFor(keys).toLong * java.lang.Long.BYTES

  /** The number of codes for which a set of at most `bytes` is always large enough. */
  private[filters] def keysWithin(bytes: Long): Int = {
    val slots = java.lang.Long.highestOneBit(bytes / java.lang.Long.BYTES)
    if (slots < BucketSlots) 0 else math.min(slots / 2, MaxKeys.toLong).toInt
  }

  /** The maximum number of codes in a set. */
  final val MaxKeys: Int = 1 << 26

  private[filters] def slotsFor(keys: Int): Int = {
    require(keys >= 0 && keys <= MaxKeys, s"$keys keys, an exact set holds 0 to $MaxKeys")
    math.max(BucketSlots, Integer.highestOneBit(math.max(1, 2 * keys - 1)) << 1)
  }

  /** Adds `code` to `table` if it is missing; returns whether it was new. */
  private[filters] def insert(table: Array[Long], filler: Long, code: Long): Boolean = {
    val found = search(table, filler, code)
    if (found < 0) table(-1 - found) = code
    found < 0
  }

  /** Moves the codes that their bucket in `table` does not hold to the front and returns their number.
    *
    * They may be members all the same, from a full bucket that overflowed, and may repeat; all other codes are members.
    */
  private[filters] def moveStrangers(table: Array[Long], filler: Long, codes: Array[Long], count: Int): Int = {
    val shift = shiftOf(table)
    var strangers = 0
    var i = 0 // once per row
    while (i < count) {
      val code = codes(i)
      val slot = bucketOf(code, shift)
      codes(strangers) = code
      strangers += absentBit(table, slot, code)
      i += 1
    }
    strangers
  }

  private final val BucketSlots = 4

  /** The slot that holds `code`, or `-1 - slot` of the empty slot that ended the search; the filler is found in that slot. */
  private def search(table: Array[Long], filler: Long, code: Long): Int = {
    val mask = table.length - 1
    var slot = bucketOf(code, shiftOf(table))
    while (table(slot) != code && table(slot) != filler) slot = (slot + 1) & mask
    if (table(slot) == code) slot else -1 - slot
  }

  /** First slot of the bucket of a code; `shift` leaves as many bits as the bucket numbers need. */
  private def bucketOf(code: Long, shift: Int): Int = ((KeyHasher.mix(code) >>> 1) >>> shift).toInt * BucketSlots

  // One less than the width, for the bit that bucketOf drops first: with a single bucket, a shift by all 64 bits would shift by none.
  private def shiftOf(table: Array[Long]): Int = java.lang.Long.SIZE - 1 - Integer.numberOfTrailingZeros(table.length / BucketSlots)

  /** 1 when none of the bucket's four slots holds `code`, else 0. */
  private def absentBit(table: Array[Long], slot: Int, code: Long): Int =
    nonZeroBit(table(slot) ^ code) & nonZeroBit(table(slot + 1) ^ code) & nonZeroBit(table(slot + 2) ^ code) & nonZeroBit(
      table(slot + 3) ^ code
    )

  private def nonZeroBit(x: Long): Int = ((x | -x) >>> 63).toInt
}
