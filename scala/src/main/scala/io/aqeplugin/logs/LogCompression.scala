package io.aqeplugin.logs

import java.io.{InputStream, PushbackInputStream}
import java.nio.charset.StandardCharsets.ISO_8859_1

import com.github.luben.zstd.ZstdInputStreamNoFinalizer
import org.apache.spark.SparkConf
import org.apache.spark.io.{LZ4CompressionCodec, LZFCompressionCodec, SnappyCompressionCodec}

/** Recognizes the compression of an event log by its first bytes, as a History Server compacts with its own codec under the name that the
  * application gave; where these are of none, by its name. Spark adds `.inprogress` or `.compact` after the suffix of the compression.
  *
  * The streams are Spark's own: Hadoop's lz4 and snappy are different formats, and its suffix for zstd is different.
  */
private[logs] object LogCompression {

  private val Codecs: Map[String, InputStream => InputStream] = Map(
    // Like Spark's, but without the buffer on top: that buffer reads on behind a frame, and loses the frame if no other follows.
    "zstd" -> (in => new ZstdInputStreamNoFinalizer(in)),
    "lz4" -> (in => new LZ4CompressionCodec(defaults).compressedInputStream(in)),
    "snappy" -> (in => new BlockStream(new SnappyCompressionCodec(defaults).compressedInputStream(in))),
    "lzf" -> (in => new LZFCompressionCodec(defaults).compressedInputStream(in))
  )

  def isCompressed(name: String): Boolean = codecOf(name).isDefined

  /** So many bytes at the start of a file tell its compression. */
  val HeadBytes = 9

  /** The decompressor of a file; none for one without compression.
    *
    * @param head
    *   its first [[HeadBytes]], or all there are
    */
  def of(name: String, head: Array[Byte]): Option[InputStream => InputStream] = {
    val text = new String(head, ISO_8859_1)
    val found = FirstBytes.collectFirst { case (first, codec) if text.startsWith(first) => codec }
    found.fold(codecOf(name))(Codecs.get)
  }

  /** The file's content. A truncated or damaged file is read up to the damage and ends with [[DamagedStream.Line]]. */
  def opened(name: String, file: InputStream): InputStream = {
    val again = new PushbackInputStream(file, HeadBytes)
    val head = again.readNBytes(HeadBytes)
    again.unread(head)
    of(name, head).fold[InputStream](again)(decompressed => new DamagedStream(again, decompressed))
  }

  // An event log without compression begins with an event.
  private val FirstBytes = Seq(
    "{\"Event\":" -> "",
    "(\u00b5/\u00fd" -> "zstd",
    "LZ4Block" -> "lz4",
    "\u0082SNAPPY\u0000" -> "snappy",
    "ZV\u0000" -> "lzf",
    "ZV\u0001" -> "lzf"
  )

  // The conf only affects writing.
  private def defaults = new SparkConf(false)

  private def codecOf(name: String): Option[InputStream => InputStream] =
    Codecs.get(name.stripSuffix(".inprogress").stripSuffix(".compact").split('.').last).filter(_ => name.contains('.'))
}
