package io.aqeplugin.sketch

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.ByteBuffer

import org.apache.datasketches.kll.KllLongsSketch
import org.apache.datasketches.memory.Memory

import io.aqeplugin.filters.CodeRange

/** What one task saw of its keys.
  *
  * @param nulls
  *   rows whose key has a null; all other numbers leave them out
  * @param range
  *   smallest and largest code, if codes are values
  * @param quantiles
  *   of the codes, if they are values
  */
final case class KeySketch(
    rows: Long,
    nulls: Long,
    range: Option[CodeRange],
    codes: CodeSample,
    quantiles: Option[KllLongsSketch]
) {

  /** The form in which it travels from a task to the driver, which runs the same jar. */
  def toBytes: Array[Byte] = {
    val out = new ByteArrayOutputStream()
    val data = new DataOutputStream(out)
    Seq(rows, nulls, range.size.toLong, range.fold(0L)(_.min), range.fold(0L)(_.max)).foreach(data.writeLong)
    data.writeInt(codes.level)
    data.writeInt(codes.codes.length)
    codes.codes.foreach(data.writeLong)
    data.write(quantiles.fold(Array.emptyByteArray)(_.toByteArray))
    out.toByteArray
  }
}

object KeySketch {

  /** @throws java.lang.RuntimeException
    *   if the bytes are not those of [[KeySketch.toBytes]]
    */
  def fromBytes(bytes: Array[Byte]): KeySketch = {
    val data = ByteBuffer.wrap(bytes)
    val (rows, nulls) = (data.getLong(), data.getLong())
    val (hasRange, min, max) = (data.getLong() == 1L, data.getLong(), data.getLong())
    val level = data.getInt()
    val codes = Array.fill(data.getInt())(data.getLong())
    val rest = new Array[Byte](data.remaining)
    data.get(rest)
    val quantiles = if (rest.isEmpty) None else Some(KllLongsSketch.heapify(Memory.wrap(rest)))
    val range = if (hasRange) Some(CodeRange(min, max)) else None
    KeySketch(rows, nulls, range, CodeSample(level, codes), quantiles)
  }
}
