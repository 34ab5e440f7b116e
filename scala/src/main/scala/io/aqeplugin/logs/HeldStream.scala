package io.aqeplugin.logs

import java.io.{FilterInputStream, InputStream}

/** Closes the stream below once and then releases it: a task that reads thousands of small files keeps a reference to each until it
  * ends.
  */
final private[logs] class HeldStream(below: InputStream) extends FilterInputStream(below) {
  override def close(): Unit =
    try super.close()
    finally in = InputStream.nullInputStream()
}
