package io.aqeplugin.storage

import java.util.{List => JavaList}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.connector.read.Scan

/** The columns of an Iceberg scan, as fields of Iceberg's schemas. Every call throws what reflection throws. */
private[storage] object IcebergColumns {
  import IcebergMembers.{publicly, withinPackage}

  def isOne(scan: Scan): Boolean = scan.getClass.getName.startsWith(IcebergMembers.Package)

  /** Iceberg's fields of what a scan reads. */
  def fields(scan: Scan): Seq[AnyRef] = if (isOne(scan)) of(withinPackage(scan, "schema")) else Nil

  /** The columns of a schema. */
  def of(schema: AnyRef): Seq[AnyRef] = IcebergMembers.of(schema, "columns") match {
    case columns: JavaList[_] => columns.asScala.toSeq.collect { case field: AnyRef => field }
    case _                    => Nil
  }

  /** The one column that a name means in a schema, whether or not case matters. A dot in a name leads into a struct too. */
  def meant(schema: AnyRef, name: String): Option[AnyRef] = of(schema).filter(nameOf(_).equalsIgnoreCase(name)) match {
    case Seq(column) => Some(column).filter(one => fieldOf(schema, nameOf(one)).map(idOf).contains(idOf(one)))
    case _           => None
  }

  /** Whether a name stands for the same column in what the scan reads and in what Iceberg filters at run time, and its values are of the type
    * that Spark has for them; false if that is not known, true for a scan of another source.
    *
    * A scan of an older version, or one that was planned before a column was renamed, reads a column by its old name. Iceberg looks for the
    * names of its runtime filters among the columns that the table has now: it finds none and fails, or another column and leaves out rows.
    * A field's id never changes.
    */
  def hasOneMeaning(scan: Scan, column: String): Boolean = !isOne(scan) || Try {
    val now = publicly(withinPackage(scan, "table"), "Table", "schema")
    val read = fieldOf(withinPackage(scan, "schema"), column)
    read.exists(field => !isUuid(field)) && read.map(idOf) == fieldOf(now, column).map(idOf)
  }.getOrElse(false)

  private def fieldOf(schema: AnyRef, column: String): Option[AnyRef] =
    Option(schema.getClass.getMethod("findField", classOf[String]).invoke(schema, column))

  def idOf(field: AnyRef): AnyRef = IcebergMembers.of(field, "fieldId")
  def nameOf(field: AnyRef): String = IcebergMembers.of(field, "name").toString
  def typeOf(field: AnyRef): String = IcebergMembers.of(field, "type").toString

  /** Whether older files, which do not have the column, have a value all the same. */
  def hasDefault(field: AnyRef): Boolean = Option(IcebergMembers.of(field, "initialDefault")).isDefined

  /** Spark has strings in place of UUIDs. Iceberg fails at a string that is none. */
  private def isUuid(field: AnyRef): Boolean = typeOf(field) == "uuid"
}
