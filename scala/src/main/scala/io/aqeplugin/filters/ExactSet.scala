package io.aqeplugin.filters

import java.util.Arrays

/** A hash set of at least one code: open addressing, linear probing, at most half full.
  *
  * Empty slots hold `filler`, which is itself a member and stands in no slot of its own. A probe for it ends at the first
  * empty slot and finds it there; a probe for any other code that ends there missed. So no code is special, 0 and
  * `Long.MinValue` included, and no second array says which slots are taken.
  *
  * @param table
  *   a power of two of slots
  */
final class ExactSet private (table: Array[Long], filler: Long, range: CodeRange, override val distinctCodes: Long) extends ExactFilter {

  private val shift = ExactSet.shiftOf(table.length)

  override def kind: String = FilterKind.Exact.name

  override def sizeBytes: Long = table.length.toLong * java.lang.Long.BYTES

  override def codeRange: Option[CodeRange] = Some(range)

  override def sortedCodes: Array[Long] = {
    val codes = filler +: table.filter(_ != filler)
    Arrays.sort(codes)
    codes
  }

  override def mightContain(code: Long): Boolean = {
    val mask = table.length - 1
    var slot = (KeyHasher.mix(code) >>> shift).toInt
    while (table(slot) != code && table(slot) != filler) slot = (slot + 1) & mask
    table(slot) == code
  }

  // Hot loop: fields are copied to locals, since the JIT compiler may not keep them in registers across array stores.
  override def retain(codes: Array[Long], positions: Array[Int], count: Int): Int = {
    val slots = table
    val mask = slots.length - 1
    val empty = filler
    val bits = shift
    var kept = 0
    var i = 0
    while (i < count) {
      val position = positions(i)
      val code = codes(position)
      var slot = (KeyHasher.mix(code) >>> bits).toInt
      var found = slots(slot)
      while (found != code && found != empty) {
        slot = (slot + 1) & mask
        found = slots(slot)
      }
      positions(kept) = position
      kept += (if (found == code) 1 else 0)
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
    math.min(slots / 2, MaxKeys.toLong).toInt
  }

  /** Most codes that a set can hold. */
  final val MaxKeys: Int = 1 << 26

  private[filters] def slotsFor(keys: Int): Int = {
    require(keys >= 0 && keys <= MaxKeys, s"$keys keys, an exact set holds 0 to $MaxKeys")
    math.max(2, Integer.highestOneBit(math.max(1, 2 * keys - 1)) << 1)
  }

  private[filters] def shiftOf(slots: Int): Int = java.lang.Long.SIZE - Integer.numberOfTrailingZeros(slots)

  /** Puts `code` into `table` unless it is there; returns whether it was new. */
  private[filters] def insert(table: Array[Long], filler: Long, code: Long): Boolean = {
    val mask = table.length - 1
    var slot = (KeyHasher.mix(code) >>> shiftOf(table.length)).toInt
    while (table(slot) != code && table(slot) != filler) slot = (slot + 1) & mask
    val isNew = table(slot) != code
    if (isNew) table(slot) = code
    isNew
  }
}
