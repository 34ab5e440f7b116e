package io.aqeplugin.logs

import java.nio.ByteOrder

import org.apache.spark.unsafe.Platform

/** Searches for newlines eight bytes at a time: lines of an event log are long, and few are requested. */
private[logs] object Newlines {

  private val Newline = '\n'.toByte
  private val Newlines = 0x0a0a0a0a0a0a0a0aL
  private val Ones = 0x0101010101010101L
  private val Highs = 0x8080808080808080L
  private val WordBytes = 8
  private val BigEndian = ByteOrder.nativeOrder == ByteOrder.BIG_ENDIAN

  /** The index of the first newline in `bytes` at or after `from` and before `until`; `until` if there is none. */
  def first(bytes: Array[Byte], from: Int, until: Int): Int = {
    var at = from
    val lastWord = until - WordBytes
    while (at <= lastWord) {
      // Zero bytes mark newlines. The lowest match is right; its borrow may cause false matches above it.
      val native = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + at) ^ Newlines
      val word = if (BigEndian) java.lang.Long.reverseBytes(native) else native
      val found = (word - Ones) & ~word & Highs
      if (found != 0) return at + java.lang.Long.numberOfTrailingZeros(found) / java.lang.Byte.SIZE
      at += WordBytes
    }
    while (at < until && bytes(at) != Newline) at += 1
    at
  }
}
