package io.aqeplugin.logs

import java.io.InputStream

import com.github.luben.zstd.ZstdInputStreamNoFinalizer
import org.apache.spark.SparkConf
import org.apache.spark.io.{LZ4CompressionCodec, LZFCompressionCodec, SnappyCompressionCodec}

/** Recognizes the compression of an event log by its file name. Spark adds `.inprogress` or `.compact` after the suffix of the compression.
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

  /** The file's content. A truncated or damaged file is read up to the damage and ends with [[DamagedStream.Line]]. */
  def opened(name: String, file: InputStream): InputStream =
    codecOf(name).fold(file)(decompressed => new DamagedStream(file, decompressed))

  // The conf only affects writing.
  private def defaults = new SparkConf(false)

  private def codecOf(name: String): Option[InputStream => InputStream] =
    Codecs.get(name.stripSuffix(".inprogress").stripSuffix(".compact").split('.').last).filter(_ => name.contains('.'))
}
