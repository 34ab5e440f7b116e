package io.aqeplugin.storage

import java.lang.reflect.Method

import scala.annotation.tailrec
import scala.util.Try

import org.apache.spark.sql.connector.read.Scan

/** The columns of an Iceberg scan. Iceberg is known by name: the plugin does not depend on it. */
private[storage] object IcebergColumns {
  private val Package = "org.apache.iceberg."

  def isOne(scan: Scan): Boolean = scan.getClass.getName.startsWith(Package)

  /** Whether a name stands for the same column in what the scan reads and in what Iceberg filters at run time, and its values are of the type
    * that Spark has for them; false if that is not known, true for a scan of another source.
    *
    * A scan of an older version, or one that was planned before a column was renamed, reads a column by its old name. Iceberg looks for the
    * names of its runtime filters among the columns that the table has now: it finds none and fails, or another column and leaves out rows.
    * A field's id never changes.
    */
  def hasOneMeaning(scan: Scan, column: String): Boolean = !isOne(scan) || Try {
    val now = publicly(called(scan, "table"), Package + "Table", "schema")
    val read = fieldOf(called(scan, "schema"), column)
    read.exists(field => !isUuid(field)) && read.map(idOf) == fieldOf(now, column).map(idOf)
  }.getOrElse(false)

  private def fieldOf(schema: AnyRef, column: String): Option[AnyRef] =
    Option(schema.getClass.getMethod("findField", classOf[String]).invoke(schema, column))

  private def idOf(field: AnyRef): AnyRef = field.getClass.getMethod("fieldId").invoke(field)

  /** Spark has strings in place of UUIDs. Iceberg fails at a string that is none. */
  private def isUuid(field: AnyRef): Boolean = field.getClass.getMethod("type").invoke(field).toString == "uuid"

  /** The result of a method of an interface, which the class of `owner` may not make public. */
  private def publicly(owner: AnyRef, interface: String, method: String): AnyRef =
    Class.forName(interface, true, owner.getClass.getClassLoader).getMethod(method).invoke(owner)

  /** The result of a method that is meant for the scan's own package. */
  private def called(owner: AnyRef, name: String): AnyRef = {
    val found = declared(owner.getClass, name)
    found.setAccessible(true)
    found.invoke(owner)
  }

  @tailrec
  private def declared(in: Class[_], name: String): Method =
    in.getDeclaredMethods.find(method => method.getName == name && method.getParameterCount == 0) match {
      case Some(found) => found
      case None        => declared(in.getSuperclass, name)
    }
}
