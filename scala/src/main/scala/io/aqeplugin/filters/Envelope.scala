package io.aqeplugin.filters

import java.nio.{ByteBuffer, ByteOrder}
import java.util.zip.CRC32C

/** The bytes around a payload: magic number, version, kind, length and checksum.
  *
  * {{{
  *   bytes  0-3   magic
  *   bytes  4-5   version
  *   byte   6     kind of payload
  *   byte   7     0
  *   bytes  8-11  payload bytes
  *   …            payload
  *   last 4       CRC32C of all bytes before it
  * }}}
  * All numbers are little-endian.
  */
private[filters] object Envelope {
  private final val Magic = 0x46455141 // "AQEF" read as a little-endian number
  private final val Version: Short = 1
  private final val HeaderBytes = 12
  final val ChecksumBytes = 4
  private final val Least = HeaderBytes + ChecksumBytes

  /** @param put writes exactly `payloadBytes` bytes */
  def seal(kind: Byte, payloadBytes: Int)(put: ByteBuffer => Unit): Array[Byte] = {
    val bytes = new Array[Byte](Least + payloadBytes)
    val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    buffer.putInt(Magic).putShort(Version).put(kind).put(0: Byte).putInt(payloadBytes)
    put(buffer)
    buffer.putInt(checksum(bytes))
    bytes
  }

  /** Kind and payload; the buffer holds the payload and nothing else. */
  def open(bytes: Array[Byte]): Either[String, (Byte, ByteBuffer)] = {
    val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    for {
      _ <- valid(bytes.length >= Least, s"${bytes.length} bytes; a stored filter has at least $Least")
      _ <- valid(
        buffer.getInt(0) == Magic,
        f"starts with 0x${buffer.getInt(0)}%08x instead of 0x$Magic%08x: not a filter, or only a part of one"
      )
      _ <- valid(buffer.getShort(4) == Version, s"format version ${buffer.getShort(4)}; this release reads version $Version")
      announced = Least + buffer.getInt(8).toLong
      _ <- valid(bytes.length == announced, s"${bytes.length} bytes; the header says $announced")
      stored = buffer.getInt(bytes.length - ChecksumBytes)
      computed = checksum(bytes)
      _ <- valid(computed == stored, f"CRC32C is 0x$computed%08x; the stored one is 0x$stored%08x")
    } yield (buffer.get(6), buffer.slice(HeaderBytes, bytes.length - Least).order(ByteOrder.LITTLE_ENDIAN))
  }

  def valid(holds: Boolean, what: => String): Either[String, Unit] = Either.cond(holds, (), what)

  def putLongs(buffer: ByteBuffer, longs: Array[Long]): Unit = {
    buffer.asLongBuffer.put(longs)
    buffer.position(buffer.position() + longs.length * java.lang.Long.BYTES)
    ()
  }

  /** The rest of the buffer, which must be whole 64-bit words. */
  def restAsLongs(buffer: ByteBuffer): Either[String, Array[Long]] =
    valid(buffer.remaining % java.lang.Long.BYTES == 0, s"${buffer.remaining} bytes are not a whole number of words").map { _ =>
      val longs = new Array[Long](buffer.remaining / java.lang.Long.BYTES)
      buffer.asLongBuffer.get(longs)
      longs
    }

  /** CRC32C of all but the last four bytes. */
  def checksum(bytes: Array[Byte]): Int = {
    val crc = new CRC32C
    crc.update(bytes, 0, bytes.length - ChecksumBytes)
    crc.getValue.toInt
  }
}
