package io.aqeplugin.tell.ui

import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.decide.{JoinDecision, JoinSaving, Told}
import io.aqeplugin.limit.{LimitDecision, LimitOutcome}
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}
import io.aqeplugin.tell._

/** A parsed [[JoinDecided]]. */
final case class Decided(executionId: Long, timeMillis: Long, mode: String, decision: JoinDecision, filters: Seq[PlacedFilter])

/** A parsed [[LimitDecided]]. */
final case class Limited(
    @Told(doc = "the decision") decision: LimitDecision,
    @Told(doc = "what was read if the limit is directly over a scan of files") outcome: Option[LimitOutcome]
)

/** A parsed [[QueryEnded]]. */
final case class Ended(
    executionId: Long,
    timeMillis: Long,
    durationMillis: Long,
    ruleMillis: Long,
    errors: Long,
    outcomes: Seq[FilterOutcome],
    savings: Seq[JoinSaving]
)

/** Parses the plugin's events, which may come from a log of another version; `Left` says what cannot be read. */
object ReadEvents {
  private val limits = Form.of[Limited]

  def decided(event: JoinDecided): Either[String, Decided] = for {
    _ <- check(event.schemaVersion, event.executionId)
    decision <- DecisionJson.read(event.decision)
    filters <- EventSchema.Placed.readList(event.filters)
  } yield Decided(event.executionId, event.timeMillis, event.mode, decision, filters)

  /** The limit, and the text from which [[limit]] reads it. */
  def limited(event: LimitDecided): Either[String, (Limited, String)] = {
    val whole = Json.Nodes.objectNode()
    whole.set[ObjectNode]("decision", event.decision)
    whole.set[ObjectNode]("outcome", event.outcome)
    for {
      _ <- check(event.schemaVersion, event.executionId)
      found <- limits.read(whole)
    } yield found -> Json.render(limits.write(found))
  }

  /** The predicate's event if this version can read it. */
  def inferred(event: PredicateInferred): Either[String, PredicateInferred] =
    check(event.schemaVersion, event.executionId).map(_ => event)

  def ended(event: QueryEnded): Either[String, Ended] = for {
    _ <- check(event.schemaVersion, event.executionId)
    done <- EventSchema.Outcome.readList(event.outcomes)
    savings <- if (event.savings.isMissingNode) Right(Nil) else EventSchema.Saving.readList(event.savings)
  } yield Ended(event.executionId, event.timeMillis, event.durationMillis, event.ruleMillis, event.errors, done, savings)

  def joinDecision(text: String): Either[String, JoinDecision] = DecisionJson.parse(text)

  def limit(text: String): Either[String, Limited] = limits.readText(text)

  def placed(text: String): Either[String, Seq[PlacedFilter]] = Json.parse(text).flatMap(EventSchema.Placed.readList)

  def outcomes(text: String): Either[String, Seq[FilterOutcome]] = Json.parse(text).flatMap(EventSchema.Outcome.readList)

  private def check(schemaVersion: Int, executionId: Long): Either[String, Unit] =
    if (schemaVersion != Events.SchemaVersion)
      Left(s"schemaVersion: $schemaVersion is not the version that this plugin reads, ${Events.SchemaVersion}")
    else Either.cond(executionId >= 0, (), "executionId: missing")
}
