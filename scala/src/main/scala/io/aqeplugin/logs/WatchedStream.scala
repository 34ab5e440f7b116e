package io.aqeplugin.logs

import java.io.{FilterInputStream, IOException, InputStream}

/** Records whether the stream below failed and whether it returned any byte, which a decompressor does not report. */
final private[logs] class WatchedStream(in: InputStream) extends FilterInputStream(in) {
  private var failed: Option[IOException] = None
  private var empty = true

  def failure: Option[IOException] = failed

  def isEmpty: Boolean = empty

  override def read(): Int = watched(in.read())(byte => byte >= 0)

  override def read(bytes: Array[Byte], offset: Int, length: Int): Int = watched(in.read(bytes, offset, length))(count => count > 0)

  private def watched(reading: => Int)(gave: Int => Boolean): Int =
    try {
      val answer = reading
      if (gave(answer)) empty = false
      answer
    } catch {
      case error: IOException =>
        failed = Some(error)
        throw error
    }
}
