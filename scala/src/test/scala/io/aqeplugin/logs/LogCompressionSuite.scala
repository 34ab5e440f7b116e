package io.aqeplugin.logs

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, FilterInputStream, IOException, InputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import scala.collection.mutable
import scala.io.Source

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkConf
import org.apache.spark.io.{
  CompressionCodec => SparkCodec,
  LZ4CompressionCodec,
  LZFCompressionCodec,
  SnappyCompressionCodec,
  ZStdCompressionCodec
}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class LogCompressionSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val conf = new SparkConf(false)
  private val writers: Map[String, SparkCodec] = Map(
    "zstd" -> new ZStdCompressionCodec(conf),
    "lz4" -> new LZ4CompressionCodec(conf),
    "snappy" -> new SnappyCompressionCodec(conf),
    "lzf" -> new LZFCompressionCodec(conf)
  )
  private val lines = (1 to 5000).map(number => s"""{"Event":"line $number","noise":"${number.hashCode.toHexString * 7}"}""")

  private def packed(name: String, of: Seq[String] = lines): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = writers(name).compressedOutputStream(bytes)
    out.write(of.mkString("", "\n", "\n").getBytes(UTF_8))
    out.close()
    bytes.toByteArray
  }

  private def read(fileName: String, file: InputStream): Seq[String] =
    Source.fromInputStream(LogCompression.opened(fileName, file), "ISO-8859-1").getLines().toSeq

  test("logs that Spark wrote are read under every file name of Spark") {
    for (codec <- writers.keys; ending <- Seq("", ".inprogress", ".compact"))
      assert(read(s"events_1_app-1.$codec$ending", new ByteArrayInputStream(packed(codec))) == lines, s"$codec$ending")
  }

  test("a file is in the compression of its content, whatever its name says") {
    // A History Server compacts with its own codec, and keeps the name that the application gave.
    for (codec <- writers.keys; named <- Seq("", ".zstd", ".lz4", ".snappy", ".lzf"))
      assert(read(s"events_1_app-1$named.compact", new ByteArrayInputStream(packed(codec))) == lines, s"$codec as '$named'")
    for (named <- Seq("", ".zstd", ".lz4", ".snappy", ".lzf"))
      assert(
        read(s"events_1_app-1$named.compact", new ByteArrayInputStream(lines.mkString("\n").getBytes(UTF_8))) == lines,
        s"plain as '$named'"
      )
  }

  test("each line of a file comes once, into however many tasks it was cut, whatever its name says") {
    val folder = Files.createTempDirectory("aqe-plugin-logs")
    val events = (1 to 5000).map(number => s"""{"Event":"x","number":"${number.hashCode.toHexString * 7}"}""")
    val contents = writers.keys.toSeq.map(packed(_, events)) :+ events.mkString("", "\n", "\n").getBytes(UTF_8)
    val names = Seq("events_1_app-1.compact", "app-1", "app-1.zstd")
    for (content <- contents; name <- names) {
      val file = Files.write(folder.resolve(name), content)
      val splits = LogSplit.tasks(Seq(LogFile("app-1", 1, file.toString, content.length.toLong)), content.length / 4L).flatten
      assert(splits.size > 3 || name.endsWith(".zstd"))
      val kinds = Seq(LineKind("any", "x", Set.empty))
      val found = splits.flatMap(EventLogLines.linesOf(_, kinds, 1 << 20, new Configuration(false))).map(_.getString(3))
      assert(found.sorted == events.sorted, name)
    }
    (names.map(folder.resolve) :+ folder).foreach(Files.delete)
  }

  test("a truncated log is read up to the cut, and its last line says so") {
    writers.keys.foreach { codec =>
      val bytes = packed(codec)
      forAll(Gen.choose(1, bytes.length - 40)) { cut =>
        val found = read(s"app-1.$codec", new ByteArrayInputStream(bytes.take(cut)))
        // A cut between two blocks is not damage: the log may have ended there.
        val whole = found.takeWhile(_ != DamagedStream.Line)
        assert(found.size - whole.size <= 1)
        assert(whole.dropRight(1) == lines.take(math.max(0, whole.size - 1)))
      }
    }
  }

  test("large reads lose no data before a cut") {
    def all(codec: String, bytes: Array[Byte], atOnce: Int): String = {
      val stream = LogCompression.opened(s"app-1.$codec", new ByteArrayInputStream(bytes))
      val buffer = new Array[Byte](atOnce)
      Iterator.continually(stream.read(buffer)).takeWhile(_ >= 0).foldLeft(new StringBuilder) { (text, count) =>
        text.append(new String(buffer, 0, count, UTF_8))
      }
    }.toString
    writers.keys.foreach { codec =>
      val bytes = packed(codec)
      forAll(Gen.choose(1, bytes.length - 40), minSuccessful(20)) { cut =>
        val little = all(codec, bytes.take(cut), 100).stripSuffix(s"\n${DamagedStream.Line}\n")
        assert(all(codec, bytes.take(cut), 256 * 1024).startsWith(little), codec)
      }
    }
  }

  test("data before invalid trailing bytes is read") {
    // Such as the bytes that a file system leaves after a power loss.
    for (codec <- writers.keys; junk <- Seq(new Array[Byte](64), "this is no frame".getBytes(UTF_8))) {
      val found = read(s"app-1.$codec", new ByteArrayInputStream(packed(codec) ++ junk))
      assert(found.filter(_.startsWith("{\"Event\":\"line ")) == lines, s"$codec: ${found.size} lines")
    }
  }

  test("a damaged log ends with the line that says so, never with an exception") {
    writers.keys.foreach { codec =>
      val bytes = packed(codec)
      forAll(Gen.choose(0, bytes.length - 1), Gen.choose(1, 255)) { (at, change) =>
        val damaged = bytes.clone()
        damaged(at) = (damaged(at) ^ change).toByte
        val found = read(s"app-1.$codec", new ByteArrayInputStream(damaged))
        assert(!found.dropRight(1).contains(DamagedStream.Line))
      }
    }
  }

  test("closing a file frees its decompressor exactly once, even after damage") {
    for (fails <- Seq(false, true)) {
      val closed = mutable.Buffer.empty[String]
      def noting(name: String, in: InputStream): InputStream = new FilterInputStream(in) {
        override def read(bytes: Array[Byte], offset: Int, length: Int): Int = {
          val count = super.read(bytes, offset, length)
          if (fails && name == "decompressor") throw new IllegalStateException("damaged") else count
        }
        override def close(): Unit = { val _ = closed += name }
      }
      val file = noting("file", new ByteArrayInputStream(Array(1)))
      val in = new HeldStream(new DamagedStream(file, below => noting("decompressor", below)))
      assert(in.read(new Array[Byte](10)) > 0)
      in.close()
      in.close()
      assert(closed.toList == List("decompressor", "file") && in.read() == -1)
    }
  }

  test("an empty file is a log without lines") {
    writers.keys.foreach(codec => assert(read(s"app-1.$codec", new ByteArrayInputStream(Array.empty)).isEmpty, codec))
  }

  test("a failure of the file system is not reported as damage") {
    writers.keys.foreach { codec =>
      val failing = new InputStream {
        private val first = new ByteArrayInputStream(packed(codec).take(3000))
        override def read(): Int = {
          val byte = first.read()
          if (byte < 0) throw new IOException("the network is down") else byte
        }
      }
      val error = intercept[IOException] {
        val stream = LogCompression.opened(s"app-1.$codec", failing)
        while (stream.read() >= 0) ()
      }
      assert(error.getMessage == "the network is down")
    }
  }

  test("a file with any other name is read as uncompressed") {
    for (name <- Seq("app-1", "zstd", "app-1.zstd.old", "events_1_app-1", "app-1.inprogress"))
      assert(!LogCompression.isCompressed(name) && read(name, new ByteArrayInputStream("a\nb".getBytes(UTF_8))) == Seq("a", "b"), name)
  }
}
