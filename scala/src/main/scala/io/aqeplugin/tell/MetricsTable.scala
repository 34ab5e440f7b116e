package io.aqeplugin.tell

import java.util.{EnumSet, Set => JavaSet}

import com.codahale.metrics.{Counter, Gauge, Metric}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry.TableFunctionBuilder
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{LocalScan, ScanBuilder}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** `aqe_metrics()`: one row for each metric of the driver, see [[DecisionMetrics]], with its name in Spark's metrics system.
  *
  * Planning a query on it waits until all earlier queries are counted, so that a notebook sees what it has just run, also in
  * `aqe_decisions()`.
  */
object MetricsTable extends Table with SupportsRead {
  val FunctionName = "aqe_metrics"

  /** Longer than a listener needs except in a flood of events. */
  private val WaitMillis = 10000L

  override def name: String = FunctionName
  override val schema: StructType = new StructType()
    .add("name", StringType, nullable = false, "as in Spark's metrics system")
    .add("value", LongType, nullable = false, "the value since the application started")
    .add("unit", StringType, nullable = false, "the unit of the value")
  override def capabilities: JavaSet[TableCapability] = EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => Latest

  private object Latest extends LocalScan {
    override def readSchema: StructType = schema
    override def description: String = FunctionName

    override def rows: Array[InternalRow] = {
      SparkSession.getActiveSession.foreach(session => EndsSeen.await(session.sparkContext, WaitMillis))
      DecisionMetrics.All.flatMap(family => family.metrics.flatMap { case (name, metric) => row(name, metric, family.unit) }).toArray
    }

    private def row(name: String, metric: Metric, unit: String): Option[InternalRow] = {
      val value = metric match {
        case counter: Counter => Some(counter.getCount)
        case gauge: Gauge[_]  => Option(gauge.getValue).collect { case number: Number => number.longValue }
        case _                => None
      }
      value.map(InternalRow(UTF8String.fromString(name), _, UTF8String.fromString(unit)))
    }
  }

  /** For `SparkSessionExtensions.injectTableFunction`. */
  val description: (FunctionIdentifier, ExpressionInfo, TableFunctionBuilder) = (
    FunctionIdentifier(FunctionName),
    new ExpressionInfo(
      MetricsTable.getClass.getName,
      "",
      FunctionName,
      "_FUNC_() - one row for each metric of the plugin, counted since the application started.",
      "",
      "",
      "",
      "table_funcs",
      "",
      "",
      "scala_udf"
    ),
    {
      case Seq()     => DataSourceV2Relation.create(MetricsTable, None, None)
      case arguments => throw DecisionsTable.wrongArgumentCount(FunctionName, arguments.size)
    }
  )
}
