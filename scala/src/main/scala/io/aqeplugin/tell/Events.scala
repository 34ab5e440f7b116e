package io.aqeplugin.tell

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.annotation.JsonDeserialize
import com.fasterxml.jackson.databind.node.JsonNodeFactory
import org.apache.spark.scheduler.SparkListenerEvent

/** The events that the plugin writes to Spark's event log. Fields may be added and optional fields removed; any other change increments
  * `schemaVersion`. A reader ignores unknown fields and does without optional ones. The class names are part of the schema, because Spark
  * writes them as the `Event` field.
  */
object Events {
  val SchemaVersion = 1
}

/** One join was decided. Posted once per join and execution.
  *
  * @param decision
  *   the decision in the form of [[DecisionJson]]
  * @param filters
  *   where the join's filters were placed or not: filterId, joinId, table, scanColumns, applied, reason
  * @param arm
  *   the query's arm, see `TrialArm`; none without a canary
  */
@JsonDeserialize(`using` = classOf[JoinDecidedReader])
final case class JoinDecided(
    schemaVersion: Int,
    executionId: Long,
    timeMillis: Long,
    mode: String,
    decision: JsonNode,
    filters: JsonNode,
    arm: Option[String] = None
) extends SparkListenerEvent

/** One limit was decided. Posted once per limit and execution, when the execution has ended.
  *
  * @param timeMillis
  *   when it was decided
  * @param decision
  *   the decision: facts, choice, reason, filesChosen, rowsProven
  * @param applied
  *   whether the plan reads what was chosen
  * @param outcome
  *   what was read: filesListed, rowsRead, splits
  * @param arm
  *   as in [[JoinDecided]]
  */
@JsonDeserialize(`using` = classOf[LimitDecidedReader])
final case class LimitDecided(
    schemaVersion: Int,
    executionId: Long,
    timeMillis: Long,
    mode: String,
    applied: Boolean,
    decision: JsonNode,
    outcome: JsonNode,
    arm: Option[String] = None
) extends SparkListenerEvent

/** One predicate was inferred across a join for one scan. Posted once per predicate, scan and execution.
  *
  * @param predicate
  *   the predicate as SQL, redacted
  * @param inferredBy
  *   how it follows, the name of an `InferredBy`
  * @param applied
  *   whether it is in the plan
  * @param arm
  *   as in [[JoinDecided]]
  */
@JsonDeserialize(`using` = classOf[PredicateInferredReader])
final case class PredicateInferred(
    schemaVersion: Int,
    executionId: Long,
    timeMillis: Long,
    mode: String,
    table: String,
    predicate: String,
    inferredBy: String,
    applied: Boolean,
    arm: Option[String] = None
) extends SparkListenerEvent

/** An execution that was planned with the plugin has ended.
  *
  * @param ruleMillis
  *   time spent in the plugin's rules
  * @param planned
  *   filters in the plan that ran
  * @param applied
  *   planned filters that were found when their scan ran; a difference is a fault
  * @param errors
  *   faults of the plugin's rules, filter builds and filters in the execution; what fails while keys are sketched or sampled, or in a
  *   task's look at its file, counts in the metrics `errors` and `executor.errors` alone
  * @param outcomes
  *   per filter and scan: filterId, joinId, table, scanColumns, kind, reason, rowsIn, rowsOut, rowsUnchecked, filterBytes, buildMillis,
  *   waitMillis, keys, anyOf
  * @param arm
  *   as in [[JoinDecided]]
  * @param badConf
  *   what is wrong with the query's conf, if the plugin left the query alone for it
  * @param flips
  *   per join and fact: joinId, fact, unit, actual, value, choice, withFilter
  */
@JsonDeserialize(`using` = classOf[QueryEndedReader])
final case class QueryEnded(
    schemaVersion: Int,
    executionId: Long,
    timeMillis: Long,
    durationMillis: Long,
    ruleMillis: Long,
    planned: Int,
    applied: Int,
    errors: Long,
    outcomes: JsonNode,
    arm: Option[String] = None,
    badConf: Option[String] = None,
    flips: JsonNode = JsonNodeFactory.instance.arrayNode()
) extends SparkListenerEvent
