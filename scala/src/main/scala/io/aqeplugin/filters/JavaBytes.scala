package io.aqeplugin.filters

import java.io.{
  ByteArrayInputStream,
  ByteArrayOutputStream,
  DataOutputStream,
  IOException,
  ObjectInputStream,
  ObjectOutputStream,
  ObjectStreamClass
}
import java.nio.ByteBuffer
import java.util.zip.{CRC32C, CheckedOutputStream}

/** Values of the plugin's classes as bytes, on their way between the tasks and the driver of one query: no class of the plugin goes through
  * `spark.serializer`, which may accept registered classes only.
  */
private[aqeplugin] object JavaBytes {

  /** @param expectedBytes
    *   what the value should take: a buffer that grows holds a large one twice
    */
  def write(value: Serializable, expectedBytes: Long = 0): Array[Byte] = {
    val bytes = new ByteArrayOutputStream(math.min(expectedBytes + OverheadBytes, Int.MaxValue / 2).toInt)
    val checked = new CheckedOutputStream(bytes, new CRC32C)
    val out = new ObjectOutputStream(checked)
    out.writeObject(value)
    out.flush()
    new DataOutputStream(bytes).writeInt(checked.getChecksum.getValue.toInt)
    bytes.toByteArray
  }

  /** @throws java.io.IOException
    *   the bytes are not those of a value. A filter of damaged keys would drop rows that have a partner.
    */
  def read[A](bytes: Array[Byte]): A = {
    val length = bytes.length - Envelope.ChecksumBytes
    if (length < 0 || Envelope.checksum(bytes) != ByteBuffer.wrap(bytes, length, Envelope.ChecksumBytes).getInt)
      throw new IOException(s"${bytes.length} bytes of a part are damaged")
    // By the loader of the plugin's jar, whatever called.
    val in = new ObjectInputStream(new ByteArrayInputStream(bytes, 0, length)) {
      override def resolveClass(of: ObjectStreamClass): Class[_] = Class.forName(of.getName, false, JavaBytes.getClass.getClassLoader)
    }
    in.readObject().asInstanceOf[A]
  }

  private final val OverheadBytes = 1024L
}
