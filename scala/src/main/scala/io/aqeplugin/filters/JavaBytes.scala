package io.aqeplugin.filters

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream, ObjectStreamClass}

/** Values of the plugin's classes as bytes, on their way between the tasks and the driver of one query: no class of the plugin goes through
  * `spark.serializer`, which may accept registered classes only.
  */
private[aqeplugin] object JavaBytes {

  def write(value: Serializable): Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    val out = new ObjectOutputStream(bytes)
    out.writeObject(value)
    out.close()
    bytes.toByteArray
  }

  /** @throws java.io.IOException
    *   the bytes are not those of a value
    */
  def read[A](bytes: Array[Byte]): A = {
    // By the loader of the plugin's jar, whatever called.
    val in = new ObjectInputStream(new ByteArrayInputStream(bytes)) {
      override def resolveClass(of: ObjectStreamClass): Class[_] = Class.forName(of.getName, false, JavaBytes.getClass.getClassLoader)
    }
    in.readObject().asInstanceOf[A]
  }
}
