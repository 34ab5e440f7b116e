package io.aqeplugin.tell.ui

import com.fasterxml.jackson.databind.JsonNode

import io.aqeplugin.decide.JoinDecision
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}
import io.aqeplugin.tell._

/** A parsed [[JoinDecided]]. */
final case class Decided(executionId: Long, timeMillis: Long, mode: String, decision: JoinDecision, filters: Seq[PlacedFilter])

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

  def ended(event: QueryEnded): Either[String, Ended] = for {
    _ <- check(event.schemaVersion, event.executionId)
    done <- outcomes(event.outcomes)
  } yield Ended(event.executionId, event.timeMillis, event.durationMillis, event.ruleMillis, event.errors, done)

  def joinDecision(text: String): Either[String, JoinDecision] = DecisionJson.parse(text).flatMap(DecisionJson.read)

  def placed(text: String): Either[String, Seq[PlacedFilter]] = array(text).flatMap(placed)

  def outcomes(text: String): Either[String, Seq[FilterOutcome]] = array(text).flatMap(outcomes)

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
