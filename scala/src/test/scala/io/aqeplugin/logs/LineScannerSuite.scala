package io.aqeplugin.logs

import java.io.{ByteArrayInputStream, InputStream}
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class LineScannerSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val kinds = Seq(LineKind("ours", "io.aqeplugin.A", Set.empty), LineKind("start", "SparkStart", Set.empty))
  private val maxLineBytes = 300

  /** Returns a few bytes per read, like a network. */
  final private class Trickle(bytes: Array[Byte], counts: Iterator[Int]) extends InputStream {
    private val in = new ByteArrayInputStream(bytes)
    override def read(): Int = in.read()
    override def read(to: Array[Byte], offset: Int, length: Int): Int = in.read(to, offset, math.min(length, counts.next()))
  }

  private def scanned(bytes: Array[Byte], start: Int, until: Long, counts: Seq[Int]): (Seq[(String, Long, String)], Seq[Long]) = {
    val tooLong = mutable.Buffer.empty[Long]
    val from = math.max(0, start - 1)
    val in = new Trickle(bytes.drop(from), Iterator.continually(counts).flatten)
    val lines =
      new LineScanner(in, kinds, maxLineBytes, from.toLong, until, start > 0, offset => tooLong += offset, readBytes = counts.max + 40)
    (lines.map(line => (line.kind.name, line.offset, line.text)).toList, tooLong.toList)
  }

  /** The expected lines, found by splitting the whole text. */
  private def expected(text: String): Seq[(String, Long, String)] = {
    val lines = text.split("\n", -1).toSeq
    val offsets = lines.scanLeft(0L)((offset, line) => offset + line.getBytes(UTF_8).length + 1)
    for {
      (line, offset) <- lines.zip(offsets)
      kind <- kinds.find(kind => line.startsWith(s"""{"Event":"${kind.event}""""))
    } yield (kind.name, offset, line)
  }

  private val line: Gen[String] = for {
    start <- Gen.oneOf(
      """{"Event":"io.aqeplugin.A"""",
      """{"Event":"SparkStart"""",
      """{"Event":"SparkStarted"""",
      """{"Event":"io.aqe""",
      "",
      "[",
      "\u010a\u0a0a"
    )
    rest <- Gen.oneOf(Gen.const(""), Gen.const("\r"), Gen.alphaNumStr, Gen.choose(0, 700).map("é" * _))
  } yield start + rest

  private val text: Gen[String] = for {
    lines <- Gen.listOf(line)
    end <- Gen.oneOf("", "\n", "\n\n")
  } yield lines.mkString("\n") + end

  private val counts: Gen[Seq[Int]] = Gen.nonEmptyListOf(Gen.oneOf(Gen.choose(1, 20), Gen.choose(1, 5000)))

  test("requested lines are returned whole with their offsets, however bytes arrive") {
    forAll(text, counts) { (text, counts) =>
      val (long, fit) = expected(text).partition(_._3.getBytes(UTF_8).length > maxLineBytes)
      assert(scanned(text.getBytes(UTF_8), 0, Long.MaxValue, counts) == ((fit, long.map(_._2))))
    }
  }

  test("the splits of a file have each line once, wherever it is split") {
    forAll(text, counts, Gen.listOf(Gen.choose(0, 3000))) { (text, counts, cuts) =>
      val bytes = text.getBytes(UTF_8)
      val bounds = (0 +: cuts.filter(_ < bytes.length).sorted.distinct.filter(_ > 0)) :+ bytes.length
      val found = bounds.zip(bounds.tail).map { case (start, until) => scanned(bytes, start, until.toLong, counts)._1 }
      assert(found.flatten == scanned(bytes, 0, Long.MaxValue, counts)._1)
    }
  }

  test("a line that is too long needs no more memory than the longest kept line") {
    val endless = new InputStream {
      private val start = """{"Event":"SparkStart","x":"""".getBytes(UTF_8)
      private var left = 50L * 1024 * 1024
      override def read(): Int = throw new UnsupportedOperationException("one byte at a time")
      override def read(to: Array[Byte], offset: Int, length: Int): Int = {
        assert(length <= LineScanner.ReadBytes + maxLineBytes)
        val count = math.min(length.toLong, left).toInt
        java.util.Arrays.fill(to, offset, offset + count, 'x'.toByte)
        if (left == 50L * 1024 * 1024) System.arraycopy(start, 0, to, offset, start.length)
        left -= count
        if (count == 0) -1 else count
      }
    }
    val tooLong = mutable.Buffer.empty[Long]
    assert(new LineScanner(endless, kinds, maxLineBytes, 0, Long.MaxValue, inLine = false, offset => tooLong += offset).isEmpty)
    assert(tooLong.toList == List(0L))
  }

  test("the first newline is found at any position, next to any other byte") {
    forAll(Gen.listOf(Gen.oneOf(Gen.choose(Byte.MinValue, Byte.MaxValue), Gen.oneOf(Seq[Byte](9, 10, 11, -118, 0, -128))))) { list =>
      val bytes = list.toArray
      for (from <- 0 to bytes.length; until <- from to bytes.length) {
        val index = bytes.slice(from, until).indexOf('\n'.toByte)
        assert(Newlines.first(bytes, from, until) == (if (index < 0) until else from + index))
      }
    }
  }
}
