package io.aqeplugin.tell

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.annotation.JsonDeserialize
import com.fasterxml.jackson.databind.node.JsonNodeFactory
import org.apache.spark.scheduler.SparkListenerEvent

import io.aqeplugin.conf.{Mode, TrialArm}
import io.aqeplugin.decide.Told
import io.aqeplugin.infer.InferredBy

/** The events that the plugin writes to Spark's event log. Fields may be added and optional fields removed; any other change increments
  * `schemaVersion`. A reader ignores unknown fields and does without optional ones. The class names are part of the schema, because Spark
  * writes them as the `Event` field.
  */
object Events {
  val SchemaVersion = 1

  private[tell] final val ArmDoc = "the query's arm; null without a canary"
}

/** One join was decided. Posted once per join and execution. */
@JsonDeserialize(`using` = classOf[EventReader])
@Told(doc = "event `io.aqeplugin.tell.JoinDecided`: one join of one query was decided; one event per join, however often Spark re-plans")
final case class JoinDecided(
    @Told(doc = "version of this schema") schemaVersion: Int,
    @Told(doc = "Spark's id of the query") executionId: Long,
    @Told(doc = "time since the epoch", unit = "millis") timeMillis: Long,
    @Told(doc = "mode of the plugin", names = classOf[Mode]) mode: String,
    @Told(doc = "the decision", kind = "JoinDecision") decision: JsonNode,
    @Told(doc = "where the join's filters were placed, or why not", kind = "FilterPlanned[]") filters: JsonNode,
    @Told(doc = Events.ArmDoc, names = classOf[TrialArm]) arm: Option[String] = None
) extends SparkListenerEvent

/** One limit was decided. Posted once per limit and execution, when the execution has ended. */
@JsonDeserialize(`using` = classOf[EventReader])
@Told(doc = "event `io.aqeplugin.tell.LimitDecided`: one limit of one query, recorded when the query has ended")
final case class LimitDecided(
    @Told(doc = "version of this schema") schemaVersion: Int,
    @Told(doc = "Spark's id of the query") executionId: Long,
    @Told(doc = "time of the decision since the epoch", unit = "millis") timeMillis: Long,
    @Told(
      doc = "mode of the decision, the lesser of `spark.aqePlugin.mode` and `spark.aqePlugin.limit.mode`",
      names = classOf[Mode]
    ) mode: String,
    @Told(doc = "whether the plan reads what was chosen") applied: Boolean,
    @Told(doc = "the decision", kind = "LimitDecision") decision: JsonNode,
    @Told(
      doc = "what was read; null when the limit is not directly over a scan of files",
      kind = "LimitOutcome",
      optional = true
    ) outcome: JsonNode,
    @Told(doc = Events.ArmDoc, names = classOf[TrialArm]) arm: Option[String] = None
) extends SparkListenerEvent

/** One predicate was inferred across a join for one scan. Posted once per predicate, scan and execution. */
@JsonDeserialize(`using` = classOf[EventReader])
@Told(doc = "event `io.aqeplugin.tell.PredicateInferred`: one predicate of one scan that follows across a join; posted once per query")
final case class PredicateInferred(
    @Told(doc = "version of this schema") schemaVersion: Int,
    @Told(doc = "Spark's id of the query") executionId: Long,
    @Told(doc = "time since the epoch", unit = "millis") timeMillis: Long,
    @Told(
      doc = "mode of the inference, the lesser of `spark.aqePlugin.mode` and `spark.aqePlugin.predicates.mode`",
      names = classOf[Mode]
    ) mode: String,
    @Told(doc = "the table whose scan the predicate filters") table: String,
    @Told(doc = "the predicate as SQL, redacted and cut after 512 characters") predicate: String,
    @Told(doc = "how it follows from the query's conditions", names = classOf[InferredBy]) inferredBy: String,
    @Told(doc = "whether it is in the plan") applied: Boolean,
    @Told(doc = Events.ArmDoc, names = classOf[TrialArm]) arm: Option[String] = None
) extends SparkListenerEvent

/** An execution that was planned with the plugin has ended. */
@JsonDeserialize(`using` = classOf[EventReader])
@Told(doc = "event `io.aqeplugin.tell.QueryEnded`: a query with decisions has ended")
final case class QueryEnded(
    @Told(doc = "version of this schema") schemaVersion: Int,
    @Told(doc = "Spark's id of the query") executionId: Long,
    @Told(doc = "time since the epoch", unit = "millis") timeMillis: Long,
    @Told(doc = "elapsed time of the query", unit = "millis") durationMillis: Long,
    @Told(doc = "time spent in the plugin's own rules, without the inference of predicates", unit = "millis") ruleMillis: Long,
    @Told(doc = "filters in the plan that ran", unit = "filters") planned: Int,
    @Told(doc = "planned filters that their scan found when it ran; fewer than planned is a fault", unit = "filters") applied: Int,
    @Told(
      doc = "faults of the plugin's rules and filters, after which the query went on without what had failed",
      unit = "errors"
    ) errors: Long,
    @Told(doc = "outcome of each filter on each scan", kind = "FilterOutcome[]") outcomes: JsonNode,
    @Told(doc = Events.ArmDoc, names = classOf[TrialArm]) arm: Option[String] = None,
    @Told(doc =
      "key and value of the query's conf that is not allowed, for which the plugin left the query alone"
    ) badConf: Option[String] = None,
    @Told(doc = "where the decisions of the query's joins change", kind = "FlipPoint[]", optional = true) flips: JsonNode =
      JsonNodeFactory.instance.arrayNode(),
    @Told(doc = "what the query's joins saved", kind = "JoinSaving[]", optional = true) savings: JsonNode =
      JsonNodeFactory.instance.arrayNode()
) extends SparkListenerEvent
