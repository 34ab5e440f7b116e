package io.aqeplugin.sketch

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.ByteBuffer

import org.apache.datasketches.kll.KllLongsSketch
import org.apache.datasketches.memory.Memory
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.filters.CodeRange

/** What one task saw of its keys.
  *
  * @param nulls
  *   rows whose key has a null; all other numbers leave them out
  * @param range
  *   smallest and largest code, if codes are values
  * @param quantiles
  *   of the codes, if they are values
  * @param columns
  *   of a key of several columns, each of them
  * @param texts
  *   of each column of the key, every distinct value; none of a column of another type, or if there are too many. Empty if none was sought
  */
final case class KeySketch(
    rows: Long,
    nulls: Long,
    range: Option[CodeRange],
    codes: CodeSample,
    quantiles: Option[KllLongsSketch],
    columns: Seq[ColumnSketch] = Nil,
    texts: Seq[Option[Seq[UTF8String]]] = Nil
) {

  /** The form in which it travels from a task to the driver, which runs the same jar. */
  def toBytes: Array[Byte] = {
    val out = new ByteArrayOutputStream()
    val data = new DataOutputStream(out)
    Seq(rows, nulls).foreach(data.writeLong)
    KeySketch.write(range, data)
    data.writeInt(codes.level)
    KeySketch.write(codes.codes, data)
    data.writeInt(columns.size)
    columns.foreach { column =>
      KeySketch.write(column.range, data)
      data.writeBoolean(column.codes.isDefined)
      column.codes.foreach(KeySketch.write(_, data))
    }
    data.writeInt(texts.size)
    texts.foreach { column =>
      data.writeInt(column.fold(KeySketch.NoTexts)(_.size))
      column.toSeq.flatten.foreach(KeySketch.write(_, data))
    }
    data.write(quantiles.fold(Array.emptyByteArray)(_.toByteArray))
    out.toByteArray
  }
}

object KeySketch {
  private val NoTexts = -1

  private def write(range: Option[CodeRange], to: DataOutputStream): Unit = {
    to.writeBoolean(range.isDefined)
    range.foreach { ends => to.writeLong(ends.min); to.writeLong(ends.max) }
  }

  private def write(text: UTF8String, to: DataOutputStream): Unit = {
    val bytes = text.getBytes
    to.writeInt(bytes.length)
    to.write(bytes)
  }

  private def write(codes: Array[Long], to: DataOutputStream): Unit = {
    to.writeInt(codes.length)
    codes.foreach(to.writeLong)
  }

  /** @throws java.lang.RuntimeException
    *   if the bytes are not those of [[KeySketch.toBytes]]
    */
  def fromBytes(bytes: Array[Byte]): KeySketch = {
    val data = ByteBuffer.wrap(bytes)
    val (rows, nulls) = (data.getLong(), data.getLong())
    val range = readRange(data)
    val codes = CodeSample(data.getInt(), readCodes(data))
    val columns = Seq.fill(data.getInt())(ColumnSketch(readRange(data), Option.when(isNext(data))(readCodes(data))))
    val texts = Seq.fill(data.getInt())(readTexts(data))
    val rest = new Array[Byte](data.remaining)
    data.get(rest)
    val quantiles = if (rest.isEmpty) None else Some(KllLongsSketch.heapify(Memory.wrap(rest)))
    KeySketch(rows, nulls, range, codes, quantiles, columns, texts)
  }

  private def isNext(from: ByteBuffer): Boolean = from.get() != 0

  private def readRange(from: ByteBuffer): Option[CodeRange] = Option.when(isNext(from))(CodeRange(from.getLong(), from.getLong()))

  private def readTexts(from: ByteBuffer): Option[Seq[UTF8String]] = {
    val count = from.getInt()
    Option.when(count != NoTexts)(Seq.fill(count) {
      val bytes = new Array[Byte](from.getInt())
      from.get(bytes)
      UTF8String.fromBytes(bytes)
    })
  }

  private def readCodes(from: ByteBuffer): Array[Long] = {
    val codes = new Array[Long](from.getInt())
    from.asLongBuffer().get(codes)
    from.position(from.position() + codes.length * java.lang.Long.BYTES)
    codes
  }
}
