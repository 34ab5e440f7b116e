package io.aqeplugin.logs

import java.io.{FilterInputStream, InputStream}

/** Never asks a decompressor for more than it has at hand. Asked for several blocks of which the last is damaged, snappy's gives none of them. */
final private[logs] class BlockStream(in: InputStream) extends FilterInputStream(in) {
  override def read(bytes: Array[Byte], offset: Int, length: Int): Int =
    in.read(bytes, offset, math.min(length, math.max(1, in.available())))
}
