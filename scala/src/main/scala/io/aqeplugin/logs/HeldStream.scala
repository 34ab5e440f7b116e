package io.aqeplugin.logs

import java.io.{FilterInputStream, InputStream}

/** Closes what is below it once, and holds nothing of it from then on: a task that reads thousands of small files remembers each of them until it ends. */
final private[logs] class HeldStream(below: InputStream) extends FilterInputStream(below) {
  override def close(): Unit =
    try super.close()
    finally in = InputStream.nullInputStream()
}
