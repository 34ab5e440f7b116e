package io.aqeplugin.limit

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Rows as the compressed result of a task: their number, then each row with its length. */
private[limit] object EncodedRows {

  /** The first `limit` rows; reads no further row. */
  def encode(rows: Iterator[InternalRow], limit: Int): Array[Byte] = {
    val body = new ByteArrayOutputStream()
    val out = new DataOutputStream(SparkBridge.compressed(body))
    var count = 0
    while (count < limit && rows.hasNext) {
      rows.next() match {
        case row: UnsafeRow =>
          out.writeInt(row.getSizeInBytes)
          out.write(row.getBytes)
        case other => throw new IllegalStateException(s"${other.getClass.getName} is no unsafe row")
      }
      count += 1
    }
    out.close()
    val all = new ByteArrayOutputStream(4 + body.size)
    new DataOutputStream(all).writeInt(count)
    body.writeTo(all)
    all.toByteArray
  }

  def count(encoded: Array[Byte]): Int = new DataInputStream(new ByteArrayInputStream(encoded)).readInt()

  /** @param columns
    *   number of columns of a row
    */
  def decode(encoded: Array[Byte], columns: Int): Iterator[InternalRow] = {
    val in = new ByteArrayInputStream(encoded, 4, encoded.length - 4)
    val rows = new DataInputStream(SparkBridge.decompressed(in))
    Iterator.fill(count(encoded)) {
      val bytes = new Array[Byte](rows.readInt())
      rows.readFully(bytes)
      val row = new UnsafeRow(columns)
      row.pointTo(bytes, bytes.length)
      row
    }
  }
}
