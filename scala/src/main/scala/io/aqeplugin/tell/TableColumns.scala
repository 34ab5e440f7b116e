package io.aqeplugin.tell

import java.util.Locale

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

import io.aqeplugin.decide.Reason

/** One column of a table that the plugin offers in SQL, or one field of a struct in it.
  *
  * @param unit
  *   unit of a number, empty for anything else
  * @param of
  *   the value; `None` is null
  */
final case class TableColumn[A](name: String, dataType: DataType, unit: String, doc: String, of: A => Any)

/** How columns are made, and what they make of a value. */
private[tell] object TableColumns {

  private val ReasonFields: Seq[TableColumn[Reason]] = Seq(
    text("code", "stable code")(_.code.name),
    double("measured", "see `unit`", "the value that was compared with the limit")(_.measured),
    double("limit", "see `unit`", "the limit")(_.limit),
    text("unit", "unit of both numbers; null without numbers")(r => nonEmpty(r.unit)),
    text("conf_key", "the conf key that sets the limit; null when none does")(r => nonEmpty(r.confKey)),
    text("subject", "the name of what the reason is about, such as the class of an operator; null when the code says it")(r =>
      nonEmpty(r.subject)
    )
  )

  def column[A](name: String, dataType: DataType, unit: String, doc: String)(of: A => Any): TableColumn[A] =
    TableColumn(name, dataType, unit, doc, of)

  def text[A](name: String, doc: String)(of: A => Any): TableColumn[A] = TableColumn(name, StringType, "", doc, of)
  def flag[A](name: String, doc: String)(of: A => Any): TableColumn[A] = TableColumn(name, BooleanType, "", doc, of)

  def whole[A](name: String, unit: String, doc: String)(of: A => Any): TableColumn[A] =
    TableColumn(name, LongType, unit, doc, of)

  // A column that is a field of an event has its name, in SQL's spelling, its unit and its meaning.
  def text[A](field: FieldSchema)(of: A => Any): TableColumn[A] =
    text(columnName(field), if (field.values.isEmpty) field.doc else oneOf(field.doc, field.values))(of)
  def flag[A](field: FieldSchema)(of: A => Any): TableColumn[A] = flag(columnName(field), field.doc)(of)
  def whole[A](field: FieldSchema)(of: A => Any): TableColumn[A] = whole(columnName(field), field.unit, field.doc)(of)
  def double[A](field: FieldSchema)(of: A => Any): TableColumn[A] =
    double(columnName(field), field.unit.replaceFirst("^see unit$", "see `unit`"), field.doc)(of)

  private def columnName(field: FieldSchema): String = field.name.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT)

  def double[A](name: String, unit: String, doc: String)(of: A => Any): TableColumn[A] =
    TableColumn(name, DoubleType, unit, doc, of)

  /** A reason as several columns, the first of which is its code. */
  def reason[A](name: String, doc: String)(of: A => Option[Reason]): Seq[TableColumn[A]] = ReasonFields.map { field =>
    if (field.name == "code") TableColumn[A](name, field.dataType, field.unit, s"$doc: stable code", of(_).map(field.of))
    else {
      val unit = if (field.unit.isEmpty) "" else s"see `${name}_unit`"
      TableColumn[A](s"${name}_${field.name}", field.dataType, unit, s"of `$name`: ${field.doc}", of(_).map(field.of))
    }
  }

  def arrayOf[A](fields: Seq[TableColumn[A]]): ArrayType = ArrayType(schemaOf(fields), containsNull = false)

  def schemaOf[A](fields: Seq[TableColumn[A]]): StructType =
    StructType(fields.map(field => StructField(field.name, field.dataType).withComment(field.doc)))

  def rowOf[A](fields: Seq[TableColumn[A]], of: A): Row = Row.fromSeq(fields.map(field => plain(field.of(of))))

  /** Flattens nested options into one. */
  private def plain(value: Any): Any = value match {
    case Some(inner: Option[_]) => plain(inner)
    case other                  => other
  }

  def nonEmpty(text: String): Option[String] = Some(text).filter(_.nonEmpty)

  def oneOf(doc: String, names: Seq[String]): String = s"$doc: ${names.map(name => s"`$name`").mkString(", ")}"

  def described(doc: String, names: Seq[(String, String)]): String =
    s"$doc: ${names.map { case (name, meaning) => s"`$name` ($meaning)" }.mkString(", ")}"
}
