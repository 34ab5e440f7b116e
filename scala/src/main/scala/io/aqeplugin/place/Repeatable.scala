package io.aqeplugin.place

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanExecBase
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.python.EvalPythonExec
import org.apache.spark.sql.execution.window.{WindowExecBase, WindowGroupLimitExec}
import org.apache.spark.sql.types._

import io.aqeplugin.exec.{KeySketchExec, RuntimeFilterExec}

/** Whether a second run of a plan gives the same rows, whatever order its input rows come in.
  *
  * A filter is built from the first run of a build side. If Spark loses an executor and runs the build side again with different rows, the
  * probe rows that would match them are already gone. Spark calls an expression deterministic that gives the same value for the same rows
  * ''in the same order''. That is not enough, because the order of shuffled rows varies.
  *
  * Unknown operators are not trusted: code over whole partitions (`mapPartitions`, scripts, functions over groups) may depend on the order
  * of its rows, and so may an RDD that shuffles.
  */
private[place] object Repeatable {

  def apply(plan: SparkPlan): Boolean = plan match {
    case stage: QueryStageExec           => apply(stage.plan)
    case reused: ReusedExchangeExec      => apply(reused.child)
    case filtered: RuntimeFilterExec     => apply(filtered.child)
    case sketched: KeySketchExec         => apply(sketched.child)
    case adaptive: AdaptiveSparkPlanExec => apply(adaptive.executedPlan)
    // Blocks that were lost with an executor are computed again.
    case cached: InMemoryTableScanExec => apply(cached.relation.cachedPlan)
    case other                         => keepsItsRows(other) && other.expressions.forall(_.deterministic) && other.children.forall(apply)
  }

  private def keepsItsRows(plan: SparkPlan): Boolean = plan match {
    case limit: WindowGroupLimitExec => isOfRanks(limit.rankLikeFunction)
    case window: WindowExecBase => window.windowExpression.forall(_.collectFirst { case w: WindowExpression => w }.forall(isRepeatable))
    case aggregate: BaseAggregateExec => aggregate.aggregateExpressions.forall(a => isOfSets(a.aggregateFunction)) &&
      !aggregate.groupingExpressions.exists(group => has(group.dataType, isCollated))
    case other => isScan(other) || isOfRows(other)
  }

  private def isScan(plan: SparkPlan): Boolean = plan match {
    // A source that takes over a limit or a sample may choose other rows next time.
    case rows: RowDataSourceScanExec => rows.pushedDownOperators.limit.isEmpty && rows.pushedDownOperators.sample.isEmpty &&
      rows.pushedDownOperators.offset.isEmpty
    case _: DataSourceScanExec | _: DataSourceV2ScanExecBase | _: LocalTableScanExec | _: RangeExec => true
    // AQE's replacement for a stage that turned out empty.
    case _: EmptyRelationExec => true
    // An RDD without a shuffle repeats its rows in the same order.
    case rows: RDDScanExec               => SparkBridge.isDeterminate(rows.rdd)
    case objects: ExternalRDDScanExec[_] => SparkBridge.isDeterminate(objects.rdd)
    case _                               => false
  }

  /** Operators that process each row, or each pair of rows, independently. */
  private def isOfRows(plan: SparkPlan): Boolean = plan match {
    case _: ProjectExec | _: FilterExec | _: SortExec | _: ExpandExec | _: GenerateExec | _: UnionExec | _: CoalesceExec => true
    case _: BaseJoinExec | _: Exchange | _: AQEShuffleReadExec                                                           => true
    case _: EvalPythonExec | _: DeserializeToObjectExec | _: SerializeFromObjectExec | _: MapElementsExec                => true
    case _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowTransition | _: RowToColumnarTransition            => true
    case _: CollectMetricsExec                                                                                           => true
    case _                                                                                                               => false
  }

  private def isRepeatable(window: WindowExpression): Boolean = window.windowFunction match {
    case AggregateExpression(function, _, _, _, _) => isOfSets(function) && isOfWholePartition(window.windowSpec.frameSpecification)
    case function                                  => isOfRanks(function)
  }

  private def isOfWholePartition(frame: WindowFrame): Boolean = frame match {
    case SpecifiedWindowFrame(_, UnboundedPreceding, UnboundedFollowing) => true
    case _                                                               => false
  }

  /** Functions that give tied rows the same value. */
  private def isOfRanks(function: Expression): Boolean = function match {
    case _: Rank | _: DenseRank | _: PercentRank | _: CumeDist => true
    case _                                                     => false
  }

  /** Aggregates that depend on the set of rows and not on their order. A sum of fractions does not qualify: it is rounded after each
    * row, as is an average of whole numbers, which Spark sums as doubles.
    */
  private def isOfSets(function: AggregateFunction): Boolean = function match {
    case _: Count | _: BitAggregate | _: HyperLogLogPlusPlus => true
    case _: Min | _: Max => !function.children.exists(child => has(child.dataType, one => isFraction(one) || isCollated(one)))
    case _: Sum          => !function.children.map(_.dataType).exists(isFraction)
    case _: Average      => function.children.forall(isSummedExactly)
    case _               => false
  }

  /** Whether the sum of an average is exact. Of seven digits, doubles sum 900 million numbers exactly. */
  private def isSummedExactly(averaged: Expression): Boolean = averaged match {
    case UnscaledValue(number) => number.dataType match {
        case decimal: DecimalType => decimal.precision <= 7
        case _                    => false
      }
    case number => number.dataType match {
        case _: DecimalType | ByteType | ShortType => true
        case _                                     => false
      }
  }

  private def isFraction(dataType: DataType): Boolean = dataType match {
    case FloatType | DoubleType => true
    case _                      => false
  }

  /** Strings that a collation takes for equal: the one that comes first stands for all. Spark makes one of the two zeros where it groups by
    * them, and not where it takes the largest.
    */
  private def isCollated(dataType: DataType): Boolean = dataType match {
    case text: StringType => !SparkBridge.isComparedByBytes(text)
    case _                => false
  }

  private def has(dataType: DataType, isOne: DataType => Boolean): Boolean = isOne(dataType) || (dataType match {
    case ArrayType(element, _)  => has(element, isOne)
    case MapType(key, value, _) => has(key, isOne) || has(value, isOne)
    case struct: StructType     => struct.exists(field => has(field.dataType, isOne))
    case _                      => false
  })
}
