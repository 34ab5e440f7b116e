package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types.{BooleanType, DataType}

import io.aqeplugin.exec.KeyCoder
import io.aqeplugin.filters.KeyFilter

/** Whether a filter may contain a value of a type that filters hold; false for null, and true where the value cannot be computed. For values
  * that the driver checks, such as those of partitions: a scan's conditions are copied to its tasks, and the filter is not. In a task,
  * which does not have the filter, every value may be a key.
  */
private[storage] final case class MayBeKey(child: Expression, @transient filter: KeyFilter) extends UnaryExpression with CodegenFallback {

  @transient private lazy val coder: KeyCoder = {
    val value = AttributeReference("value", child.dataType)()
    KeyCoder(Seq(value), Seq(value))
  }

  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false

  override def eval(input: InternalRow): Any = Option(filter).forall(mightContain(_, input))

  private def mightContain(keys: KeyFilter, input: InternalRow): Boolean =
    Try(child.eval(input)).fold(
      _ => true,
      { key =>
        val value = InternalRow(key)
        !coder.hasNull(value) && keys.mightContain(coder.code(value))
      }
    )

  override def toString: String = s"$prettyName($child)"
  override def prettyName: String = "may_be_key"
  override protected def withNewChildInternal(newChild: Expression): MayBeKey = copy(child = newChild)
}
