package io.aqeplugin.logs

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, IOException, InputStream}
import java.nio.charset.StandardCharsets.UTF_8

import scala.io.Source

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.io.compress.{CompressionCodec, CompressionCodecFactory}
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

class EventLogCodecSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val conf = new SparkConf(false)
  private val writers: Map[String, SparkCodec] = Map(
    "zstd" -> new ZStdCompressionCodec(conf),
    "lz4" -> new LZ4CompressionCodec(conf),
    "snappy" -> new SnappyCompressionCodec(conf),
    "lzf" -> new LZFCompressionCodec(conf)
  )
  private val classes: Seq[Class[_ <: EventLogCodec]] = Seq(
    classOf[ZstdLog],
    classOf[ZstdLogInProgress],
    classOf[ZstdLogCompacted],
    classOf[Lz4Log],
    classOf[Lz4LogInProgress],
    classOf[Lz4LogCompacted],
    classOf[SnappyLog],
    classOf[SnappyLogInProgress],
    classOf[SnappyLogCompacted],
    classOf[LzfLog],
    classOf[LzfLogInProgress],
    classOf[LzfLogCompacted]
  )
  private val lines = (1 to 5000).map(number => s"""{"Event":"line $number","noise":"${number.hashCode.toHexString * 7}"}""")

  private def packed(name: String): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = writers(name).compressedOutputStream(bytes)
    out.write(lines.mkString("", "\n", "\n").getBytes(UTF_8))
    out.close()
    bytes.toByteArray
  }

  private def codecOf(fileName: String): CompressionCodec = {
    val hadoop = new Configuration(false)
    hadoop.set("io.compression.codecs", classes.map(_.getName).mkString(","))
    Option(new CompressionCodecFactory(hadoop).getCodec(new Path(s"/events/$fileName"))).getOrElse(fail(s"no codec for $fileName"))
  }

  private def read(fileName: String, file: InputStream): Seq[String] =
    Source.fromInputStream(codecOf(fileName).createInputStream(file), "ISO-8859-1").getLines().toSeq

  test("what Spark wrote is read back, under every name that Spark gives a log") {
    for (codec <- writers.keys; ending <- Seq("", ".inprogress", ".compact"))
      assert(read(s"events_1_app-1.$codec$ending", new ByteArrayInputStream(packed(codec))) == lines, s"$codec$ending")
  }

  test("a log that is cut off is read up to the cut, and its last line says so") {
    writers.keys.foreach { codec =>
      val bytes = packed(codec)
      forAll(Gen.choose(1, bytes.length - 40)) { cut =>
        val found = read(s"app-1.$codec", new ByteArrayInputStream(bytes.take(cut)))
        // A cut between two blocks is no damage: the log may have ended there.
        val whole = found.takeWhile(_ != DamagedStream.Line)
        assert(found.size - whole.size <= 1)
        assert(whole.dropRight(1) == lines.take(math.max(0, whole.size - 1)))
      }
    }
  }

  test("damage ends a log with the line that says so, and never with an exception") {
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

  test("a file with nothing in it is a log with no lines") {
    writers.keys.foreach(codec => assert(read(s"app-1.$codec", new ByteArrayInputStream(Array.empty)).isEmpty, codec))
  }

  test("a file system that fails is not taken for damage") {
    writers.keys.foreach { codec =>
      val failing = new InputStream {
        private val first = new ByteArrayInputStream(packed(codec).take(3000))
        override def read(): Int = {
          val byte = first.read()
          if (byte < 0) throw new IOException("the network is down") else byte
        }
      }
      val error = intercept[IOException] {
        val stream = codecOf(s"app-1.$codec").createInputStream(failing)
        while (stream.read() >= 0) ()
      }
      assert(error.getMessage == "the network is down")
    }
  }
}
