package io.aqeplugin.filters

import java.nio.{ByteBuffer, ByteOrder}
import java.util.zip.CRC32C

import org.scalacheck.{Arbitrary, Gen}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class FilterFormatSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  import KeySets.{everyFilterOf, part}

  private val oneOfEach: Seq[(String, Array[Byte])] = {
    val codes = Array(3L, 70L, -5L, 3L)
    (Seq(EmptySet, RangeFilter(CodeRange(-5L, 70L))) ++ everyFilterOf(codes)).map(f => (f.kind, FilterFormat.write(f)))
  }

  /** Changes bytes and corrects the checksum. */
  private def forged(bytes: Array[Byte])(change: ByteBuffer => ByteBuffer): Array[Byte] = {
    val copy = bytes.clone()
    val buffer = ByteBuffer.wrap(copy).order(ByteOrder.LITTLE_ENDIAN)
    assert(change(buffer) eq buffer)
    val crc = new CRC32C
    crc.update(copy, 0, copy.length - 4)
    buffer.putInt(copy.length - 4, crc.getValue.toInt)
    copy
  }

  private def invalid(result: Either[String, Any]): String = result.left.getOrElse(fail(s"$result"))

  test("every kind of filter is read back unchanged") {
    forAll(KeySets.codes) { codes =>
      everyFilterOf(codes).foreach { filter =>
        val bytes = FilterFormat.write(filter)
        val Right(copy) = FilterFormat.read(bytes): @unchecked
        assert(copy.kind == filter.kind && copy.sizeBytes == filter.sizeBytes)
        assert(FilterFormat.write(copy).toSeq == bytes.toSeq)
        assert((codes ++ codes.map(_ + 1)).forall(c => copy.mightContain(c) == filter.mightContain(c)))
      }
    }
  }

  test("a range is read back unchanged") {
    forAll(KeySets.code, KeySets.code) { (a, b) =>
      val range = RangeFilter(CodeRange(math.min(a, b), math.max(a, b)))
      assert(FilterFormat.read(FilterFormat.write(range)) == Right(range))
    }
  }

  test("every part is read back unchanged") {
    forAll(KeySets.codes, Gen.oneOf(true, false), Gen.oneOf(0L, 100L, 400L, 1L << 20)) { (codes, integral, cap) =>
      val p = part(codes, integral, KeySets.limits.copy(maxFilterBytes = cap))
      val copy = JavaBytes.read[PartialFilter](JavaBytes.write(p))
      assert(copy.copy(state = p.state) == p)
      assert(KeySets.bytesOf(copy.toFilter(1)) == KeySets.bytesOf(p.toFilter(1)))
    }
  }

  test("every refusal in a part is read back unchanged") {
    val refusals =
      Seq(
        FilterRefusal.TooManyBytes(5, 3),
        FilterRefusal.IncompleteBuild(1, 2),
        FilterRefusal.Overfull(0.9, 0.5),
        FilterRefusal.IncompatibleParts
      )
    refusals.foreach { refusal =>
      val p = part(Array(1)).copy(state = KeyState.Refused(refusal))
      assert(JavaBytes.read[PartialFilter](JavaBytes.write(p)) == p)
    }
  }

  test("bytes truncated anywhere are an error") {
    for ((name, bytes) <- oneOfEach; length <- 0 until bytes.length)
      assert(FilterFormat.read(bytes.take(length)).isLeft, s"$name, $length bytes")
  }

  test("an extra byte is an error") {
    for ((name, bytes) <- oneOfEach) assert(FilterFormat.read(bytes :+ 0.toByte).isLeft, name)
  }

  test("every single flipped bit is an error") {
    for ((name, bytes) <- oneOfEach; bit <- 0 until bytes.length * 8) {
      val flipped = bytes.clone()
      flipped(bit / 8) = (flipped(bit / 8) ^ (1 << (bit % 8))).toByte
      assert(FilterFormat.read(flipped).isLeft, s"$name, bit $bit")
    }
  }

  test("arbitrary bytes are an error, not an exception") {
    forAll(Gen.listOf(Arbitrary.arbitrary[Byte])) { bytes =>
      assert(FilterFormat.read(bytes.toArray).isLeft)
    }
  }

  test("a forged payload with a valid checksum never causes an exception") {
    forAll(Gen.oneOf(oneOfEach), Gen.choose(0, 200), Arbitrary.arbitrary[Byte]) { case ((name, bytes), offset, value) =>
      val at = 6 + offset % (bytes.length - 10)
      val result = FilterFormat.read(forged(bytes)(buffer => buffer.put(at, value)))
      assert(result.isLeft || result.isRight, name)
    }
  }

  test("each error describes the problem") {
    val bytes = FilterFormat.write(ExactSet.of(Array(1L, 2L)).getOrElse(EmptySet))
    assert(FilterFormat.read(bytes.take(9)) == Left("9 bytes; a stored filter has at least 16"))
    assert(
      FilterFormat.read(forged(bytes)(b => b.putInt(0, 1))).left.exists(_.startsWith("starts with 0x00000001 instead of 0x46455141"))
    )
    assert(FilterFormat.read(forged(bytes)(b => b.putShort(4, 2))) == Left("format version 2; this release reads version 1"))
    assert(FilterFormat.read(forged(bytes)(b => b.put(6, 99.toByte))) == Left("this release does not know kind 99"))
    assert(FilterFormat.read(bytes.init) == Left("31 bytes; the header says 32"))
    assert(FilterFormat.read(bytes.updated(20, 1.toByte)).left.exists(_.startsWith("CRC32C is ")))
    assert(FilterFormat.read(JavaBytes.write(part(Array(1)))).left.exists(_.startsWith("starts with 0x")))
  }

  test("an invalid filter is rejected even with a valid checksum") {
    val exact = FilterFormat.write(ExactSet.of(Array(1L, 2L)).getOrElse(EmptySet))
    assert(invalid(FilterFormat.read(forged(exact)(b => b.putLong(12, 2)))) == "the codes of an exact set do not ascend")
    val bitmap = FilterFormat.write(RangeBitmap.of(Array(1L, 2L)).getOrElse(EmptySet))
    assert(invalid(FilterFormat.read(forged(bitmap)(b => b.putLong(12, Long.MaxValue)))).contains("do not hold 64-bit codes"))
    assert(invalid(FilterFormat.read(forged(bitmap)(b => b.putLong(20, 0)))) == "a bitmap starts and ends with a set bit")
    val range = FilterFormat.write(RangeFilter(CodeRange(1L, 2L)))
    assert(invalid(FilterFormat.read(forged(range)(b => b.putLong(12, 3)))) == "the range 3 to 2 is empty")
  }

  test("a filter of an unknown kind cannot be stored") {
    val other = new KeyFilter {
      override def kind: String = "other"
      override def sizeBytes: Long = 0
      override def mightContain(code: Long): Boolean = true
      override def retain(codes: Array[Long], positions: Array[Int], count: Int): Int = count
    }
    assert(intercept[IllegalArgumentException](FilterFormat.write(other)).getMessage.contains("a filter of kind other"))
  }
}
