package io.aqeplugin.tell

import java.util.{EnumSet, Set => JavaSet}

import org.apache.spark.SparkContext
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry.TableFunctionBuilder
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{LocalScan, ScanBuilder}
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** `aqe_decisions()`: one row for each join decision of this application's recent queries, from all sessions.
  *
  * A query on it has the rows that exist when it is planned. Queries that read the table are neither decided nor recorded, so reading it
  * does not add rows.
  */
object DecisionsTable extends Table with SupportsRead {
  val FunctionName = "aqe_decisions"

  override def name: String = FunctionName
  override def schema: StructType = DecisionColumns.Schema
  override def capabilities: JavaSet[TableCapability] = EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => LatestDecisions

  private object LatestDecisions extends LocalScan {
    override def readSchema: StructType = DecisionColumns.Schema
    override def description: String = FunctionName
    override def rows: Array[InternalRow] = DecisionsTable.rows(RecentDecisions.current)
  }

  private[tell] def rows(recent: RecentDecisions): Array[InternalRow] = {
    val toInternal = CatalystTypeConverters.createToCatalystConverter(DecisionColumns.Schema)
    recent.queries.flatMap { query =>
      val status = recent.status(query)
      query.decisions.map(decision => toInternal(DecisionColumns.row(DecisionRow(query, status, decision))).asInstanceOf[InternalRow])
    }.toArray
  }

  /** For `SparkSessionExtensions.injectTableFunction`. */
  val description: (FunctionIdentifier, ExpressionInfo, TableFunctionBuilder) = (
    FunctionIdentifier(FunctionName),
    new ExpressionInfo(
      DecisionsTable.getClass.getName,
      "",
      FunctionName,
      "_FUNC_() - one row for each join decision of this application's recent queries.",
      "",
      "",
      "",
      "table_funcs",
      "",
      "",
      "scala_udf"
    ),
    {
      case Seq()     => DataSourceV2Relation.create(DecisionsTable, None, None)
      case arguments => throw wrongArgumentCount(FunctionName, arguments.size)
    }
  )

  /** Whether the query that is being planned reads this table; `plan` may be only a part of the query. */
  def isRead(sparkContext: SparkContext, plan: TreeNode[_]): Boolean = {
    val query = for {
      id <- Option(sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).flatMap(_.toLongOption)
      execution <- Option(SQLExecution.getQueryExecution(id))
    } yield reads(execution.analyzed)
    query.getOrElse(false) || (plan match {
      case logical: LogicalPlan => reads(logical)
      case physical: SparkPlan  => isReadBelow(physical)
      case _                    => false
    })
  }

  /** A node's logical plan contains those of its children, so no part is searched twice. */
  private def isReadBelow(plan: SparkPlan): Boolean = plan.logicalLink.fold(plan.children.exists(isReadBelow))(reads)

  private def reads(plan: LogicalPlan): Boolean =
    plan.collectWithSubqueries {
      case relation: DataSourceV2Relation if relation.table eq DecisionsTable      => ()
      case scan: DataSourceV2ScanRelation if scan.relation.table eq DecisionsTable => ()
      case node if node.innerChildren.exists(inner => isReadByInner(inner))        => ()
    }.nonEmpty

  /** Spark keeps the query that a command runs outside the command's children. */
  private def isReadByInner(inner: TreeNode[_]): Boolean = inner match {
    case logical: LogicalPlan => reads(logical)
    case _                    => false
  }

  private[tell] def wrongArgumentCount(function: String, actual: Int): AnalysisException = new AnalysisException(
    "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
    Map(
      "functionName" -> s"`$function`",
      "expectedNum" -> "0",
      "actualNum" -> actual.toString,
      "docroot" -> "https://spark.apache.org/docs/latest"
    ),
    None
  )
}
