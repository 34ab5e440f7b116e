package io.aqeplugin.storage

import java.io.{ByteArrayInputStream, IOException}
import java.nio.{ByteBuffer, ByteOrder}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.io.{DelegatingSeekableInputStream, InputFile, SeekableInputStream}

/** Reads a footer with one read of the end of its file, or with two when the footer is long.
  *
  * The conf is always handed to Parquet: without one it makes its own, which parses Hadoop's XML files for each footer and takes 50 times as
  * long as the read.
  */
private[storage] object ParquetTail {

  /** Bytes that are read first: the footers of most tables are shorter, and a remote store takes no longer for them. */
  private val FirstBytes = 32 << 10

  /** A longer footer is not read: a damaged file may give any length, and the driver reads several at once. */
  private val MostBytes = 64L << 20

  /** Parquet takes no footer for one that begins where the magic bytes at the start of a file are. */
  private val LeadBytes = 4

  /** The length of the footer and the magic bytes after it. */
  private val TrailerBytes = 8

  /** Throws any exception of the file system, and an `IOException` if the end of the file is no footer. */
  def footer(file: FileStatus, conf: Configuration): ParquetMetadata = {
    val stream = HadoopInputFile.fromStatus(file, conf).newStream()
    val tail =
      try {
        val first = read(stream, file.getLen, FirstBytes.toLong)
        val needed = LeadBytes + footerBytes(first) + TrailerBytes
        if (needed > MostBytes) throw new IOException(s"The footer of ${file.getPath} has $needed bytes; up to $MostBytes are read.")
        if (needed > first.length && needed < file.getLen) read(stream, file.getLen, needed) else first
      } finally stream.close()
    val bytes = new Tail(tail, file.getPath.toString)
    try ParquetFileReader.readFooter(bytes, HadoopReadOptions.builder(conf, file.getPath).build(), bytes.newStream())
    catch {
      // By which Parquet tells, for one, that a file is none of its format.
      case error: RuntimeException if isOfParquet(error) =>
        throw new IOException(s"${file.getPath} has no footer that Parquet can read.", error)
    }
  }

  private def isOfParquet(error: RuntimeException): Boolean =
    error.getClass == classOf[RuntimeException] || error.getClass.getName.startsWith("org.apache.parquet.")

  private def read(stream: SeekableInputStream, fileBytes: Long, atMost: Long): Array[Byte] = {
    val bytes = new Array[Byte](math.toIntExact(math.min(fileBytes, atMost)))
    stream.seek(fileBytes - bytes.length)
    stream.readFully(bytes)
    bytes
  }

  /** The length that the trailer gives; 0 when the file does not end like a Parquet file. */
  private def footerBytes(tail: Array[Byte]): Long =
    if (tail.length < TrailerBytes || !new String(tail, tail.length - 4, 3, "US-ASCII").equals("PAR")) 0L
    else ByteBuffer.wrap(tail).order(ByteOrder.LITTLE_ENDIAN).getInt(tail.length - TrailerBytes).toLong

  /** The end of a file as a file of its own: the position of a footer is counted from the end. */
  private final class Tail(bytes: Array[Byte], name: String) extends InputFile {
    override def getLength: Long = bytes.length.toLong
    override def newStream(): SeekableInputStream = {
      val buffer = new Buffer(bytes)
      new DelegatingSeekableInputStream(buffer) {
        override def getPos: Long = buffer.position
        override def seek(position: Long): Unit = buffer.moveTo(position)
      }
    }
    override def toString: String = name
  }

  private final class Buffer(bytes: Array[Byte]) extends ByteArrayInputStream(bytes) {
    def position: Long = pos.toLong
    def moveTo(position: Long): Unit = pos = math.toIntExact(position)
  }
}
