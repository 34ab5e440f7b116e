package io.aqeplugin.logs

import java.io.{InputStream, OutputStream}

import org.apache.hadoop.io.compress.{CompressionCodec, CompressionInputStream, CompressionOutputStream, Compressor, Decompressor}
import org.apache.spark.SparkConf
import org.apache.spark.io.{
  CompressionCodec => SparkCodec,
  LZ4CompressionCodec,
  LZFCompressionCodec,
  SnappyCompressionCodec,
  ZStdCompressionCodec
}

/** Lets Spark's text reader read compressed event logs, from any file system that Hadoop knows: Spark's own streams behind Hadoop's interface.
  *
  * Hadoop's lz4 and snappy are other formats than Spark's, and it knows zstd by another suffix. These codecs are therefore used only by a read that names
  * them in its option `io.compression.codecs`; nothing registers them for all reads. Hadoop finds a codec by the end of a file's name, and Spark adds
  * `.inprogress` or `.compact` after the compression, so there is one class for each ending.
  *
  * A log that is cut off or damaged is read up to there, and ends with a line of its own, [[DamagedStream.Line]].
  */
abstract class EventLogCodec(extension: String, spark: SparkConf => SparkCodec) extends CompressionCodec {

  override def getDefaultExtension: String = extension

  override def createInputStream(in: InputStream): CompressionInputStream = {
    // The defaults: only writing depends on the conf.
    val conf = new SparkConf(false)
    new DamagedStream(in, spark(conf).compressedInputStream(_))
  }

  override def createInputStream(in: InputStream, decompressor: Decompressor): CompressionInputStream = createInputStream(in)

  override def getDecompressorType: Class[_ <: Decompressor] = classOf[Decompressor]

  // What Hadoop takes for "none": the stream above decompresses by itself.
  override def createDecompressor(): Decompressor = null

  override def createOutputStream(out: OutputStream): CompressionOutputStream = refuse()

  override def createOutputStream(out: OutputStream, compressor: Compressor): CompressionOutputStream = refuse()

  override def getCompressorType: Class[_ <: Compressor] = classOf[Compressor]

  override def createCompressor(): Compressor = refuse()

  private def refuse(): Nothing = throw new UnsupportedOperationException("event logs are only read")
}

final class ZstdLog extends EventLogCodec(".zstd", new ZStdCompressionCodec(_))
final class ZstdLogInProgress extends EventLogCodec(".zstd.inprogress", new ZStdCompressionCodec(_))
final class ZstdLogCompacted extends EventLogCodec(".zstd.compact", new ZStdCompressionCodec(_))
final class Lz4Log extends EventLogCodec(".lz4", new LZ4CompressionCodec(_))
final class Lz4LogInProgress extends EventLogCodec(".lz4.inprogress", new LZ4CompressionCodec(_))
final class Lz4LogCompacted extends EventLogCodec(".lz4.compact", new LZ4CompressionCodec(_))
final class SnappyLog extends EventLogCodec(".snappy", new SnappyCompressionCodec(_))
final class SnappyLogInProgress extends EventLogCodec(".snappy.inprogress", new SnappyCompressionCodec(_))
final class SnappyLogCompacted extends EventLogCodec(".snappy.compact", new SnappyCompressionCodec(_))
final class LzfLog extends EventLogCodec(".lzf", new LZFCompressionCodec(_))
final class LzfLogInProgress extends EventLogCodec(".lzf.inprogress", new LZFCompressionCodec(_))
final class LzfLogCompacted extends EventLogCodec(".lzf.compact", new LZFCompressionCodec(_))
