package io.aqeplugin.logs

import java.io.{FilterInputStream, IOException, InputStream}

/** Remembers whether the stream below it failed and whether it gave anything, which whoever decompresses it does not tell. */
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
