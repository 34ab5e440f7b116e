package io.aqeplugin.logs

import java.io.{FilterInputStream, InputStream}

/** Never asks a decompressor for more than it has ready. Snappy's decompressor returns nothing at all when asked for several blocks of
  * which the last is damaged.
  */
final private[logs] class BlockStream(in: InputStream) extends FilterInputStream(in) {
  override def read(bytes: Array[Byte], offset: Int, length: Int): Int =
    in.read(bytes, offset, math.min(length, math.max(1, in.available())))
}
