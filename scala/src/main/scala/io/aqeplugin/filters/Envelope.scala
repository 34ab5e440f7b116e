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
  private final val ChecksumBytes = 4

  /** @param put writes exactly `payloadBytes` bytes */
  def seal(kind: Byte, payloadBytes: Int)(put: ByteBuffer => Unit): Array[Byte] = {
    val bytes = new Array[Byte](HeaderBytes + payloadBytes + ChecksumBytes)
    val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    buffer.putInt(Magic).putShort(Version).put(kind).put(0: Byte).putInt(payloadBytes)
    put(buffer)
    buffer.putInt(checksum(bytes))
    bytes
  }

  /** Kind and payload; the buffer holds the payload and nothing else. */
  def open(bytes: Array[Byte]): Either[FormatError, (Byte, ByteBuffer)] = {
    val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    for {
      _ <- check(bytes.length >= HeaderBytes + ChecksumBytes, FormatError.TooShort(bytes.length, HeaderBytes + ChecksumBytes))
      _ <- check(buffer.getInt(0) == Magic, FormatError.WrongMagic(buffer.getInt(0), Magic))
      _ <- check(buffer.getShort(4) == Version, FormatError.UnknownVersion(buffer.getShort(4).toInt, Version.toInt))
      announced = HeaderBytes + ChecksumBytes + buffer.getInt(8).toLong
      _ <- check(bytes.length == announced, FormatError.WrongLength(bytes.length, announced))
      stored = buffer.getInt(bytes.length - ChecksumBytes)
      computed = checksum(bytes)
      _ <- check(computed == stored, FormatError.WrongChecksum(computed, stored))
    } yield (buffer.get(6), buffer.slice(HeaderBytes, bytes.length - HeaderBytes - ChecksumBytes).order(ByteOrder.LITTLE_ENDIAN))
  }

  def check(holds: Boolean, error: => FormatError): Either[FormatError, Unit] = if (holds) Right(()) else Left(error)

  def valid(holds: Boolean, what: => String): Either[FormatError, Unit] = check(holds, FormatError.InvalidPayload(what))

  def putLongs(buffer: ByteBuffer, longs: Array[Long]): Unit = {
    buffer.asLongBuffer.put(longs)
    buffer.position(buffer.position() + longs.length * java.lang.Long.BYTES)
    ()
  }

  /** The rest of the buffer, which must be whole 64-bit words. */
  def restAsLongs(buffer: ByteBuffer): Either[FormatError, Array[Long]] =
    valid(buffer.remaining % java.lang.Long.BYTES == 0, s"${buffer.remaining} bytes are not a whole number of words").map { _ =>
      val longs = new Array[Long](buffer.remaining / java.lang.Long.BYTES)
      buffer.asLongBuffer.get(longs)
      longs
    }

  private def checksum(bytes: Array[Byte]): Int = {
    val crc = new CRC32C
    crc.update(bytes, 0, bytes.length - ChecksumBytes)
    crc.getValue.toInt
  }
}
