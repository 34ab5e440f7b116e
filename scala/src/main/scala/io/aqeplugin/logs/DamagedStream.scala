package io.aqeplugin.logs

import java.io.{ByteArrayInputStream, InputStream}
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try
import scala.util.control.NonFatal

/** A decompressed file that ends where its data is truncated or damaged, with one added line that says so.
  *
  * Failures of the file system are passed on: the bytes exist, and a retried task may get them.
  *
  * @param file
  *   the compressed bytes
  * @param decompress
  *   opens the decompressor, which reads immediately and may fail immediately
  */
final private[logs] class DamagedStream(file: InputStream, decompress: InputStream => InputStream) extends InputStream {

  private val source = new WatchedStream(file)
  private val decompressed = Try(decompress(source))
  private var current: InputStream = decompressed.getOrElse(afterDamage())
  private var damaged = false

  override def read(bytes: Array[Byte], offset: Int, length: Int): Int =
    try current.read(bytes, offset, length)
    catch {
      case NonFatal(_) if !damaged =>
        current = afterDamage()
        damaged = true
        current.read(bytes, offset, length)
    }

  override def read(): Int = {
    val one = new Array[Byte](1)
    if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
  }

  // The decompressor of a damaged file is closed too: zstd holds off-heap memory until then.
  override def close(): Unit =
    try decompressed.foreach(_.close())
    finally file.close()

  private def afterDamage(): InputStream = {
    source.failure.foreach(failure => throw failure)
    // An empty file is one that was just created.
    val line = if (source.isEmpty) "" else s"\n${DamagedStream.Line}\n"
    new ByteArrayInputStream(line.getBytes(UTF_8))
  }
}

object DamagedStream {

  /** Replaces the bytes that could not be decompressed. Like every line of an event log, it is an object with a member `Event`. */
  val Line: String = """{"Event":"io.aqeplugin.logs.Damaged"}"""
}
