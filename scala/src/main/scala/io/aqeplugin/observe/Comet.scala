package io.aqeplugin.observe

import java.lang.reflect.Method

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Apache DataFusion Comet, as of 1.2. */
object Comet extends Engine {
  override val name: String = "Comet"
  override val extension: String = "org.apache.comet.CometSparkSessionExtensions"

  private val Packages = Seq("org.apache.comet.", "org.apache.spark.sql.comet.")
  override def owns(className: String): Boolean = Packages.exists(className.startsWith)

  // Comet itself says whether it has what it needs: its shuffle manager, memory, its native library.
  override def isOn(conf: SQLConf): Boolean =
    Needed.forall(conf.getConfString(_, "true").trim.equalsIgnoreCase("true")) && Try {
      val extensions = loaded(s"$extension$$")
      extensions.getMethod("isCometLoaded", classOf[SQLConf]).invoke(extensions.getField("MODULE$").get(None.orNull), conf)
    }.toOption.contains(java.lang.Boolean.TRUE)

  /** What carries filters out. Without it each filter would cut a native plan. */
  private val Needed = Seq(
    "spark.comet.exec.enabled",
    "spark.comet.exec.filter.enabled",
    "spark.comet.expression.BloomFilterMightContain.enabled",
    "spark.comet.expression.XxHash64.enabled"
  )

  override def original(operator: SparkPlan): Option[SparkPlan] =
    Seq("originalPlan", "wrapped").flatMap(called(operator, _)).collectFirst { case plan: SparkPlan => plan }

  // Native operators count in DataFusion's names.
  override def counted(operator: SparkPlan, metric: String): Option[Long] =
    Seq(metric, NativeNames.getOrElse(metric, metric)).flatMap(operator.metrics.get).map(_.value).find(_ > 0)

  private val NativeNames = Map("numOutputRows" -> "output_rows")

  override def rowsOf(broadcast: Any): Option[Iterator[InternalRow]] = broadcast match {
    case value: AnyRef if owns(value.getClass.getName) =>
      called(value, "chunks").flatMap(SparkBridge.buffers).map(_.iterator.flatMap(decoded))
    case _ => None
  }

  private def decoded(chunk: AnyRef): Iterator[InternalRow] = {
    val reader = loaded("org.apache.spark.sql.comet.util.Utils$")
    val decode = reader.getMethods.find(_.getName == "decodeBatches").getOrElse(throw new NoSuchMethodException("decodeBatches"))
    val batches = decode.invoke(reader.getField("MODULE$").get(None.orNull), chunk, "aqe-plugin").asInstanceOf[Iterator[ColumnarBatch]]
    batches.flatMap(_.rowIterator.asScala)
  }

  override def hashes(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType => true
    case text: StringType => KeyKind.of(text).contains(KeyKind.BinaryString)
    case _                => false
  }

  private def loaded(name: String): Class[_] = Class.forName(name, true, Thread.currentThread.getContextClassLoader)

  private def called(on: AnyRef, member: String): Option[Any] =
    members.get(on.getClass).get(member).flatMap(method => Try(method.invoke(on)).toOption)

  // Asked of every operator at every planning.
  private val members = new ClassValue[Map[String, Method]] {
    override def computeValue(of: Class[_]): Map[String, Method] =
      of.getMethods.filter(method => method.getParameterCount == 0 && Members(method.getName)).map(method => method.getName -> method).toMap
  }

  private lazy val Members = Set("originalPlan", "wrapped", "chunks")
}
