package io.aqeplugin.filters

import java.nio.ByteOrder

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Turns keys into 64-bit codes, and codes into well-spread hashes.
  *
  * All functions are pure, allocate nothing, and give the same value on every machine and in every release: build tasks,
  * probe tasks and stored filters must agree. The tests compare them with fixed values.
  */
object KeyHasher {

  /** The initial code of a key of several columns: `combine(combine(Seed, firstColumn), secondColumn)`. */
  final val Seed: Long = 0x2545f4914f6cdd1dL

  // Fractional bits of irrational numbers (golden ratio, sqrt 2, sqrt 3, sqrt 5, sqrt 7), made odd: no structure in common with keys.
  private final val Golden = 0x9e3779b97f4a7c15L
  private final val Sqrt2 = 0x6a09e667f3bcc909L
  private final val Sqrt3 = 0xbb67ae8584caa73bL
  private final val Sqrt5 = 0x3c6ef372fe94f82bL
  private final val Sqrt7 = 0xa54ff53a5f1d36f1L

  private val bigEndian = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN

  /** A bijection of the 64-bit integers in which every input bit flips each output bit about half the time.
    *
    * It is the SplitMix64 finaliser: constants of David Stafford's variant 13 ("Better Bit Mixing", 2011).
    */
  def mix(code: Long): Long = {
    val a = (code ^ (code >>> 30)) * 0xbf58476d1ce4e5b9L
    val b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL
    b ^ (b >>> 31)
  }

  /** Adds one more column to a composite key; the order of the columns matters.
    *
    * @param seed
    *   [[Seed]], or the result of the columns before
    * @param code
    *   the column's own code
    */
  def combine(seed: Long, code: Long): Long = mix(seed * Golden + code)

  /** Hash of the bytes of `s`: strings that are equal only under a collation have different hashes. */
  def hashUtf8(s: UTF8String): Long = hashBytes(s.getBaseObject, s.getBaseOffset, s.numBytes)

  /** Hash of a wide decimal's unscaled value.
    *
    * @param bytes
    *   the shortest big-endian two's complement form, as `BigInteger.toByteArray` gives it, so that equal values have
    *   equal bytes
    */
  def hashUnscaled(bytes: Array[Byte]): Long = hashBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length)

  /** Hash of a binary value. */
  def hashBinary(bytes: Array[Byte]): Long = hashBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length)

  /** The code of a floating-point number: its bits as a double. The two zeros are one key, and so are all NaNs, as in Spark's joins. */
  def floatingCode(value: Double): Long = if (value == 0.0) 0L else java.lang.Double.doubleToLongBits(value)

  /** Hash of a run of bytes in memory.
    *
    * Each 16 bytes are folded into the state by one 64 × 64 → 128-bit multiplication whose halves are xor-ed, the construction of Wang Yi's
    * wyhash. The last 1 to 16 bytes are read as two words that may overlap. The length is added at the end, so that runs of zeros of
    * different lengths differ.
    *
    * @param base
    *   the object that holds the bytes, as in `org.apache.spark.unsafe.Platform`; `null` for off-heap memory
    * @param offset
    *   of the first byte within `base`, or an address
    * @param lengthBytes
    *   number of bytes, 0 or more
    */
  def hashBytes(base: AnyRef, offset: Long, lengthBytes: Int): Long = {
    // Hot loop: plain variables.
    var state = Seed
    var at = offset
    var left = lengthBytes
    while (left > 16) {
      state = fold(word(base, at) ^ Sqrt2, word(base, at + 8) ^ state)
      at += 16
      left -= 16
    }
    var low = 0L
    var high = 0L
    if (left >= 8) {
      low = word(base, at)
      high = word(base, at + left - 8)
    } else if (left >= 4) {
      low = halfWord(base, at)
      high = halfWord(base, at + left - 4)
    } else if (left > 0) {
      low = (Platform.getByte(base, at) & 0xffL) << 16 |
        (Platform.getByte(base, at + (left >>> 1)) & 0xffL) << 8 |
        (Platform.getByte(base, at + left - 1) & 0xffL)
    }
    val last = fold(low ^ Sqrt3, high ^ state)
    mix(last ^ fold(lengthBytes.toLong ^ Sqrt5, last ^ Sqrt7))
  }

  private def fold(a: Long, b: Long): Long = {
    val low = a * b
    // multiplyHigh is signed; the last two terms make it the high half of the unsigned product.
    val high = Math.multiplyHigh(a, b) + ((a >> 63) & b) + ((b >> 63) & a)
    low ^ high
  }

  private def word(base: AnyRef, at: Long): Long = {
    val w = Platform.getLong(base, at)
    if (bigEndian) java.lang.Long.reverseBytes(w) else w
  }

  private def halfWord(base: AnyRef, at: Long): Long = {
    val w = Platform.getInt(base, at)
    (if (bigEndian) Integer.reverseBytes(w) else w) & 0xffffffffL
  }
}
