package io.aqeplugin.exec

import java.util.function.{BooleanSupplier, Consumer, DoubleConsumer, IntFunction, LongConsumer, Supplier}

import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext

/** What generated code says of a [[PartitionSketch]].
  *
  * It names no class of the plugin. Spark compiles generated code with the context class loader of the thread that runs the query, and a jar
  * from `spark.jars` is unknown to the loaders of some: a fork-join pool's, or the system's. The code would not compile there, and the stage
  * would run interpreted, or fail.
  *
  * @param sketch
  *   the variable of the sketch
  * @param columns
  *   for each key column, the variable that takes its values, and the Java expression of the value that it takes
  */
private[exec] final case class GeneratedSketch(sketch: String, columns: Seq[(String, String => String)]) {
  import GeneratedSketch.as

  /** Adds a row by the values of its key, none of which is null. */
  def add(values: Seq[String]): String = columns.zip(values).map { case ((taker, taken), value) =>
    s"$taker.accept(${taken(value)});"
  }.mkString(" ")

  def addNull: String = s"${as[Runnable](sketch)}.run();"
  def isOpen: String = s"${as[BooleanSupplier](sketch)}.getAsBoolean()"
  def fail(error: String): String = s"${as[Consumer[_]](sketch)}.accept($error);"
}

private[exec] object GeneratedSketch {

  /** The variables of a sketch that is opened when the task begins. */
  def open(ctx: CodegenContext, task: SketchTask, coder: KeyCoder): GeneratedSketch = {
    val opened = ctx.addReferenceObj("sketchTask", task, classOf[Supplier[_]].getName)
    val takers = coder.ofValues.map { column =>
      val (taker, taken) = takerOf(column)
      (ctx.addMutableState(taker, "keyTaker", forceInline = true), taker, taken)
    }
    val sketch = ctx.addMutableState(
      "Object",
      "keySketch",
      variable =>
        (s"$variable = $opened.get();" +: takers.zipWithIndex.map { case ((taker, name, _), column) =>
          s"$taker = ($name) ${as[IntFunction[_]](variable)}.apply($column);"
        }).mkString("\n"),
      forceInline = true
    )
    GeneratedSketch(sketch, takers.map { case (variable, _, taken) => (variable, taken) })
  }

  /** The interface of what takes the values of a column, and the Java expression of a value. */
  private def takerOf(column: PlainColumn): (String, String => String) = column match {
    case _: ObjectColumn   => (classOf[Consumer[_]].getName, identity)
    case _: FloatingColumn => (classOf[DoubleConsumer].getName, identity)
    case _: BooleanColumn  => (classOf[LongConsumer].getName, value => s"$value ? 1L : 0L")
    case _                 => (classOf[LongConsumer].getName, identity)
  }

  private def as[A](variable: String)(implicit interface: reflect.ClassTag[A]): String = s"((${interface.runtimeClass.getName}) $variable)"
}
