package io.aqeplugin.logs

import java.io.InputStream

import com.github.luben.zstd.ZstdInputStreamNoFinalizer
import org.apache.spark.SparkConf
import org.apache.spark.io.{LZ4CompressionCodec, LZFCompressionCodec, SnappyCompressionCodec}

/** How the file of an event log is compressed, by the end of its name. Spark adds `.inprogress` or `.compact` after the compression.
  *
  * The streams are Spark's own: Hadoop's lz4 and snappy are other formats, and it knows zstd by another suffix.
  */
private[logs] object LogCompression {

  private val Codecs: Map[String, InputStream => InputStream] = Map(
    // As in Spark's, without the buffer that it puts above: that one reads on behind a frame, and loses what came of it when no other follows.
    "zstd" -> (in => new ZstdInputStreamNoFinalizer(in)),
    "lz4" -> (in => new LZ4CompressionCodec(defaults).compressedInputStream(in)),
    "snappy" -> (in => new BlockStream(new SnappyCompressionCodec(defaults).compressedInputStream(in))),
    "lzf" -> (in => new LZFCompressionCodec(defaults).compressedInputStream(in))
  )

  def isCompressed(name: String): Boolean = codecOf(name).isDefined

  /** The file's content. One that is cut off or damaged is read up to there, and ends with a line of its own, [[DamagedStream.Line]]. */
  def opened(name: String, file: InputStream): InputStream =
    codecOf(name).fold(file)(decompressed => new DamagedStream(file, decompressed))

  // Only writing depends on the conf.
  private def defaults = new SparkConf(false)

  private def codecOf(name: String): Option[InputStream => InputStream] =
    Codecs.get(name.stripSuffix(".inprogress").stripSuffix(".compact").split('.').last).filter(_ => name.contains('.'))
}
