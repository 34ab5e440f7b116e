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
import io.aqeplugin.observe.{ByIdentity, KnownExpressions, StagePlan, Total}
import io.aqeplugin.observe.KnownExpressions.{OfSet, SameForEqual}
import io.aqeplugin.storage.{DeltaScan, HiveScan}

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

  /** Whether a second run gives the same keys, which are expressions of the plan's columns. */
  def apply(plan: SparkPlan, keys: Seq[Expression]): Boolean =
    everywhere(plan)(node => keepsItsRows(node) && node.expressions.forall(isDeterministic)) && {
      def isOfEqual: Boolean = keys.forall(isOfEqualStrings) && everywhere(plan)(_.expressions.forall(isOfEqualStrings))
      everywhere(plan)(!groupsByCollation(_)) || isOfEqual
    }

  private def isDeterministic(expression: Expression): Boolean =
    expression.deterministic || expression.transform { case counted if DeltaScan.isCount(counted) => counted.children.head }.deterministic

  /** Whether something holds for every operator that runs, those of stages, of reused exchanges and of cached tables too: blocks that were lost
    * with an executor are computed again.
    */
  private def everywhere(plan: SparkPlan)(holds: SparkPlan => Boolean): Boolean = {
    // A cached table may read another one several times, and that a third.
    val seen = ByIdentity.empty[SparkPlan, Unit]
    def of(part: SparkPlan): Boolean = part match {
      case stage: QueryStageExec           => of(StagePlan.of(stage))
      case reused: ReusedExchangeExec      => of(reused.child)
      case filtered: RuntimeFilterExec     => of(filtered.child)
      case sketched: KeySketchExec         => of(sketched.child)
      case adaptive: AdaptiveSparkPlanExec => of(StagePlan.ofSpark(adaptive.executedPlan))
      case cached: InMemoryTableScanExec   =>
        val kept = cached.relation.cachedPlan
        seen.put(kept, ()).isDefined || of(StagePlan.ofSpark(kept))
      case other => holds(other) && other.children.forall(of)
    }
    of(plan)
  }

  /** Whether which of several equal strings stands for a group depends on the order of rows. */
  private def groupsByCollation(plan: SparkPlan): Boolean = plan match {
    case aggregate: BaseAggregateExec => aggregate.groupingExpressions.exists(group => contains(group.dataType, isCollated))
    case _                            => false
  }

  /** Whether an expression has one value for all strings that their collation takes for equal. */
  private def isOfEqualStrings(expression: Expression): Boolean = expression match {
    case _: Attribute | CollationKey(_: Attribute)          => true
    case other if KnownExpressions.has(other, SameForEqual) => other.children.forall(isOfEqualStrings)
    case other                                              => !other.references.exists(column => contains(column.dataType, isCollated))
  }

  private def keepsItsRows(plan: SparkPlan): Boolean = plan match {
    case limit: WindowGroupLimitExec => KnownExpressions.has(limit.rankLikeFunction, OfSet)
    case window: WindowExecBase => window.windowExpression.forall(_.collectFirst { case w: WindowExpression => w }.forall(isRepeatable))
    case aggregate: BaseAggregateExec => aggregate.aggregateExpressions.forall(a => isOfSets(a.aggregateFunction))
    case other                        => isScan(other) || isOfRows(other)
  }

  private def isScan(plan: SparkPlan): Boolean = plan match {
    // A database that takes over a limit or a sample may choose other rows next time, and its aggregates are not Spark's. Other sources do not
    // tell what they took over.
    case rows: RowDataSourceScanExec                                                                => isPlain(rows)
    case _: DataSourceScanExec | _: DataSourceV2ScanExecBase | _: LocalTableScanExec | _: RangeExec => true
    // AQE's replacement for a stage that turned out empty.
    case _: EmptyRelationExec => true
    // An RDD without a shuffle repeats its rows in the same order.
    case rows: RDDScanExec               => SparkBridge.isDeterminate(rows.rdd)
    case objects: ExternalRDDScanExec[_] => SparkBridge.isDeterminate(objects.rdd)
    case other                           => HiveScan.isOne(other)
  }

  private def isPlain(rows: RowDataSourceScanExec): Boolean = {
    val pushed = rows.pushedDownOperators
    pushed.limit.isEmpty && pushed.sample.isEmpty && pushed.offset.isEmpty && pushed.aggregation.isEmpty
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
    case function                                  => KnownExpressions.has(function, OfSet)
  }

  private def isOfWholePartition(frame: WindowFrame): Boolean = frame match {
    case SpecifiedWindowFrame(_, UnboundedPreceding, UnboundedFollowing) => true
    case _                                                               => false
  }

  /** Aggregates that depend on the set of rows and not on their order. A sum of fractions does not qualify: it is rounded after each
    * row, as is an average of whole numbers, which Spark sums as doubles. Of several zeros, the largest is the one that came first; where Spark
    * groups by them, it makes one of both.
    */
  private def isOfSets(function: AggregateFunction): Boolean = function match {
    case _: Min | _: Max => !function.children.exists(child => contains(child.dataType, one => isFraction(one) || isCollated(one)))
    case _: Sum          => !function.children.map(_.dataType).exists(isFraction) && !mayBecomeNull(function)
    case _: Average      => function.children.forall(isSummedExactly)
    case other           => KnownExpressions.has(other, OfSet)
  }

  /** Whether the sum of an average is exact. Of seven digits, doubles sum 900 million numbers exactly. */
  private def isSummedExactly(averaged: Expression): Boolean = averaged match {
    case UnscaledValue(number) => number.dataType match {
        case decimal: DecimalType => decimal.precision <= 7
        case _                    => false
      }
    case number => number.dataType match {
        case decimal: DecimalType => mayBeSummed(decimal)
        case ByteType | ShortType => true
        case _                    => false
      }
  }

  private def isFraction(dataType: DataType): Boolean = dataType match {
    case FloatType | DoubleType => true
    case _                      => false
  }

  /** Whether a sum becomes null when it overflows, and stays null: it then depends on the order of its rows. */
  private def mayBecomeNull(sum: AggregateFunction): Boolean =
    sum.productIterator.exists(isTry) || sum.children.map(_.dataType).exists {
      case decimal: DecimalType => !mayBeSummed(decimal)
      case _                    => false
    }

  /** Whether a part of a function says that errors become nulls. The part differs between the Spark lines. */
  private def isTry(part: Any): Boolean = part match {
    case _: Expression          => false
    case context: scala.Product => context.productIterator.exists(isTry)
    case other                  => other == EvalMode.TRY
  }

  /** Whether the sum of any number of such decimals has digits enough. */
  private def mayBeSummed(decimal: DecimalType): Boolean = decimal.precision + Total.DigitsOfRows <= DecimalType.MAX_PRECISION

  /** Strings whose collation equates different bytes: the first to come stands for all. */
  private def isCollated(dataType: DataType): Boolean = dataType match {
    case text: StringType => !SparkBridge.isComparedByBytes(text)
    case _                => false
  }

  private def contains(dataType: DataType, isSuch: DataType => Boolean): Boolean = isSuch(dataType) || (dataType match {
    case ArrayType(element, _)    => contains(element, isSuch)
    case MapType(key, value, _)   => contains(key, isSuch) || contains(value, isSuch)
    case struct: StructType       => struct.exists(field => contains(field.dataType, isSuch))
    case user: UserDefinedType[_] => contains(user.sqlType, isSuch)
    case _                        => false
  })
}
