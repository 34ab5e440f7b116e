package io.aqeplugin.tell.ui

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.decide.{JoinDecision, LimitDecision}
import io.aqeplugin.observe.{FilterOutcome, LimitOutcome, PlacedFilter}
import io.aqeplugin.tell._

/** A parsed [[JoinDecided]]. */
final case class Decided(executionId: Long, timeMillis: Long, mode: String, decision: JoinDecision, filters: Seq[PlacedFilter])

/** A parsed [[LimitDecided]]: the decision, and what was read if the limit is directly over a scan of files. */
final case class Limited(decision: LimitDecision, outcome: Option[LimitOutcome])

/** A parsed [[QueryEnded]]. */
final case class Ended(
    executionId: Long,
    timeMillis: Long,
    durationMillis: Long,
    ruleMillis: Long,
    errors: Long,
    outcomes: Seq[FilterOutcome]
)

/** Parses the plugin's events, which may come from a log of another version; `Left` says what cannot be read. */
object ReadEvents {

  def decided(event: JoinDecided): Either[String, Decided] = for {
    _ <- check(event.schemaVersion, event.executionId)
    decision <- joinDecision(event.decision)
    filters <- placed(event.filters)
  } yield Decided(event.executionId, event.timeMillis, event.mode, decision, filters)

  /** The limit, and the text from which [[limit]] reads it. */
  def limited(event: LimitDecided): Either[String, (Limited, String)] = for {
    _ <- check(event.schemaVersion, event.executionId)
    node = JsonFields.emptyObject.set[ObjectNode]("decision", event.decision)
    // Absent in an event log, the outcome is a missing node, which is no null.
    whole = if (event.outcome.isMissingNode) node else node.set[ObjectNode]("outcome", event.outcome)
    found <- limit(new JsonFields(whole, ""))
  } yield found -> JsonFields.render(whole)

  /** The predicate's event if this version can read it. */
  def inferred(event: PredicateInferred): Either[String, PredicateInferred] =
    check(event.schemaVersion, event.executionId).map(_ => event)

  def ended(event: QueryEnded): Either[String, Ended] = for {
    _ <- check(event.schemaVersion, event.executionId)
    done <- outcomes(event.outcomes)
  } yield Ended(event.executionId, event.timeMillis, event.durationMillis, event.ruleMillis, event.errors, done)

  def joinDecision(text: String): Either[String, JoinDecision] = DecisionJson.parse(text).flatMap(DecisionJson.read)

  def limit(text: String): Either[String, Limited] = JsonFields.parse(text).flatMap(node => limit(new JsonFields(node, "")))

  def placed(text: String): Either[String, Seq[PlacedFilter]] = array(text).flatMap(placed)

  def outcomes(text: String): Either[String, Seq[FilterOutcome]] = array(text).flatMap(outcomes)

  private def limit(fields: JsonFields): Either[String, Limited] = for {
    decision <- fields.inner("decision")(LimitJson.readDecision)
    outcome <- fields.optionalInner("outcome")(LimitJson.readOutcome)
  } yield Limited(decision, outcome)

  private def joinDecision(node: JsonNode): Either[String, JoinDecision] = inList(node)(_.inner(List)(DecisionJson.readFields))

  private def placed(node: JsonNode): Either[String, Seq[PlacedFilter]] = inList(node)(_.inners(List)(FilterJson.readPlaced))

  private def outcomes(node: JsonNode): Either[String, Seq[FilterOutcome]] = inList(node)(_.inners(List)(FilterJson.readOutcome))

  private val List = "event"

  private def inList[A](node: JsonNode)(read: JsonFields => Either[String, A]): Either[String, A] = {
    val around = JsonFields.emptyObject
    around.set[JsonNode](List, node)
    read(new JsonFields(around, ""))
  }

  private def array(text: String): Either[String, JsonNode] = DecisionJson.parse(s"""{"$List":$text}""").map(_.get(List))

  private def check(schemaVersion: Int, executionId: Long): Either[String, Unit] =
    if (schemaVersion != Events.SchemaVersion)
      Left(s"schemaVersion: $schemaVersion is not the version that this plugin reads, ${Events.SchemaVersion}")
    else Either.cond(executionId >= 0, (), "executionId: missing")
}
