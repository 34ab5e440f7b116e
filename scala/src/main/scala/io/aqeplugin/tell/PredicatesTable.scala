package io.aqeplugin.tell

import java.time.Instant
import java.util.{EnumSet, Set => JavaSet}

import org.apache.spark.sql.catalyst.{CatalystTypeConverters, FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry.TableFunctionBuilder
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{LocalScan, ScanBuilder}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{StructType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.aqeplugin.conf.Mode
import io.aqeplugin.infer.InferredBy

/** `aqe_predicates()`: one row for each of the latest predicates that were inferred across joins, from all sessions. */
object PredicatesTable extends Table with SupportsRead {
  import DecisionColumns._

  val FunctionName = "aqe_predicates"

  /** The columns: names, types, units and meaning. */
  val Columns: Seq[DecisionColumn[PredicateInferred]] = Seq[DecisionColumn[PredicateInferred]](
    column("inferred_at", TimestampType, "", "when the query was planned")(event => Instant.ofEpochMilli(event.timeMillis)),
    whole("execution_id", "", "Spark's id of the query")(_.executionId),
    text("mode", oneOf("mode of the inference", Mode.All.map(_.name)))(_.mode),
    text("table", "the table whose scan the predicate filters")(_.table),
    text("predicate", "the predicate, redacted as the query's description")(_.predicate),
    text("inferred_by", oneOf("how it follows from the query's conditions", InferredBy.All.map(_.name)))(_.inferredBy),
    flag("applied", "whether it is in the plan")(_.applied)
  )

  override def name: String = FunctionName
  override val schema: StructType = schemaOf(Columns)
  override def capabilities: JavaSet[TableCapability] = EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => Latest

  private object Latest extends LocalScan {
    override def readSchema: StructType = schema
    override def description: String = FunctionName
    override def rows: Array[InternalRow] = {
      val toInternal = CatalystTypeConverters.createToCatalystConverter(schema)
      RecentPredicates.current.all.map(event => toInternal(rowOf(Columns, event)).asInstanceOf[InternalRow]).toArray
    }
  }

  /** For `SparkSessionExtensions.injectTableFunction`. */
  val description: (FunctionIdentifier, ExpressionInfo, TableFunctionBuilder) = (
    FunctionIdentifier(FunctionName),
    new ExpressionInfo(
      PredicatesTable.getClass.getName,
      "",
      FunctionName,
      "_FUNC_() - one row for each of the latest predicates that were inferred across joins.",
      "",
      "",
      "",
      "table_funcs",
      "",
      "",
      "scala_udf"
    ),
    {
      case Seq()     => DataSourceV2Relation.create(PredicatesTable, None, None)
      case arguments => throw DecisionsTable.wrongArgumentCount(FunctionName, arguments.size)
    }
  )
}
