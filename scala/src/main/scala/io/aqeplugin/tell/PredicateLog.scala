package io.aqeplugin.tell

import org.apache.spark.SparkContext
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import io.aqeplugin.conf.{Mode, TrialArm}
import io.aqeplugin.infer.{InferredFilter, InferredPredicate}
import io.aqeplugin.observe.QueryState

/** Records each predicate that was inferred for a query as a log line, an event, a counter and a row of `aqe_predicates()`. */
object PredicateLog {
  private val log = LoggerFactory.getLogger("io.aqeplugin.predicates")
  private val MaxLength = 512

  /** Records the predicates that the query has not recorded yet: Spark may optimize a part of a query more than once. */
  def record(sparkContext: SparkContext, state: QueryState, mode: Mode, arm: Option[TrialArm], filters: Seq[InferredFilter]): Unit = for {
    filter <- filters
    table = tableOf(filter.input)
    predicate <- filter.predicates
  } {
    val text = textOf(predicate.condition)
    if (state.notePredicate(s"$table $text")) post(sparkContext, state, mode, arm, table, text, predicate)
  }

  private def post(
      sparkContext: SparkContext,
      state: QueryState,
      mode: Mode,
      arm: Option[TrialArm],
      table: String,
      text: String,
      predicate: InferredPredicate
  ): Unit = {
    val isApplied = mode == Mode.Apply
    if (log.isInfoEnabled) {
      log.info(s"query ${state.executionId}, scan of $table: $text (${predicate.by.name})${if (isApplied) "" else ", not applied"}")
    }
    DecisionMetrics.inferred(predicate.by)
    val event = PredicateInferred(
      Events.SchemaVersion,
      state.executionId,
      System.currentTimeMillis(),
      mode.name,
      table,
      text,
      predicate.by.name,
      isApplied,
      arm.map(_.name)
    )
    LatestRows.Predicates.add(event)
    SparkBridge.post(sparkContext, event)
  }

  private def textOf(condition: Expression): String = {
    val plain = condition.transform { case column: AttributeReference => column.withQualifier(Nil) }.sql.replace("`", "")
    SparkBridge.redacted(SQLConf.get, plain).take(MaxLength)
  }

  private def tableOf(input: LogicalPlan): String = input.collectFirst {
    case files: LogicalRelation         => nameOf(files)
    case relation: DataSourceV2Relation => relation.name
    case scan: DataSourceV2ScanRelation => scan.relation.name
  }.getOrElse(input.nodeName)

  private def nameOf(files: LogicalRelation): String = files.catalogTable.map(_.identifier.unquotedString).getOrElse {
    files.relation match {
      case relation: HadoopFsRelation => relation.location.rootPaths.headOption.fold("files")(_.getName)
      case other                      => other.toString
    }
  }
}
