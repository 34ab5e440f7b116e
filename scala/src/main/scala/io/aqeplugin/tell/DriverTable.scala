package io.aqeplugin.tell

import java.util.{EnumSet, Set => JavaSet}

import org.apache.spark.SparkContext
import org.apache.spark.sql.{AnalysisException, Row, SparkSession}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry.TableFunctionBuilder
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{LocalScan, ScanBuilder}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.aqeplugin.observe.Executions

/** A table function without arguments, whose rows are on the driver.
  *
  * A query on it has the rows that exist when it is planned. Planning waits at most ten seconds for the ends of earlier queries to be
  * recorded, so that a notebook sees what it has just run. Queries that read one of these tables are neither decided nor recorded, so
  * reading a table does not add rows to it.
  *
  * @param function
  *   the function's name
  * @param rowsAre
  *   what DESCRIBE FUNCTION says
  */
abstract class DriverTable(function: String, rowsAre: String) extends Table with SupportsRead {

  /** Found when a query reads the table: each session knows its name, and few need its columns. */
  protected def columnTypes: StructType

  protected def latest: Seq[Row]

  override def name: String = function
  override def schema: StructType = columnTypes
  override def capabilities: JavaSet[TableCapability] = EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => Latest

  private object Latest extends LocalScan {
    override def readSchema: StructType = schema
    override def description: String = function
    override def rows: Array[InternalRow] = {
      val toInternal = CatalystTypeConverters.createToCatalystConverter(schema)
      SparkSession.getActiveSession.foreach(session => EndsSeen.await(session.sparkContext, DriverTable.WaitMillis))
      latest.map(row => toInternal(row).asInstanceOf[InternalRow]).toArray
    }
  }

  /** For `SparkSessionExtensions.injectTableFunction`. */
  final val description: (FunctionIdentifier, ExpressionInfo, TableFunctionBuilder) = (
    FunctionIdentifier(function),
    DriverTable.info(getClass, function, s"() - $rowsAre.", "table_funcs"),
    {
      case Seq()     => DataSourceV2Relation.create(this, None, None)
      case arguments => throw DriverTable.wrongArgumentCount(function, expected = "0", arguments.size)
    }
  )
}

object DriverTable {

  /** Longer than a listener needs except in a flood of events. */
  private val WaitMillis = 10000L

  /** Whether the query that is being planned reads such a table; `plan` may be only a part of the query. */
  def isRead(sparkContext: SparkContext, plan: TreeNode[_]): Boolean =
    Executions.idOf(sparkContext).flatMap(Executions.of).exists(execution => reads(execution.analyzed)) || (plan match {
      case logical: LogicalPlan => reads(logical)
      case physical: SparkPlan  => isReadBelow(physical)
      case _                    => false
    })

  /** A node's logical plan contains those of its children, so no part is searched twice. */
  private def isReadBelow(plan: SparkPlan): Boolean = plan.logicalLink.fold(plan.children.exists(isReadBelow))(reads)

  private def reads(plan: LogicalPlan): Boolean =
    plan.collectWithSubqueries {
      case relation: DataSourceV2Relation if isOne(relation.table)          => ()
      case scan: DataSourceV2ScanRelation if isOne(scan.relation.table)     => ()
      case node if node.innerChildren.exists(inner => isReadByInner(inner)) => ()
    }.nonEmpty

  /** Spark keeps the query that a command runs outside the command's children. */
  private def isReadByInner(inner: TreeNode[_]): Boolean = inner match {
    case logical: LogicalPlan => reads(logical)
    case _                    => false
  }

  private def isOne(table: Table): Boolean = table.isInstanceOf[DriverTable]

  private[tell] def info(of: Class[_], name: String, usage: String, group: String, arguments: String = ""): ExpressionInfo =
    new ExpressionInfo(of.getName, "", name, s"_FUNC_$usage", arguments, "", "", group, "", "", "scala_udf")

  private[tell] def wrongArgumentCount(function: String, expected: String, actual: Int): AnalysisException = new AnalysisException(
    "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
    Map(
      "functionName" -> s"`$function`",
      "expectedNum" -> expected,
      "actualNum" -> actual.toString,
      "docroot" -> "https://spark.apache.org/docs/latest"
    ),
    None
  )
}
