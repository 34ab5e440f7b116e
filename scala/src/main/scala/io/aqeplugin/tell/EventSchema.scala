package io.aqeplugin.tell

import io.aqeplugin.decide.JoinSaving
import io.aqeplugin.limit.{LimitDecision, LimitOutcome}
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}

/** One field of a JSON object.
  *
  * @param kind
  *   `text`, `integer`, `number`, `boolean`, the name of an [[ObjectSchema]], or one of these with `[]` for a list
  * @param required
  *   false if the field may be null or missing
  */
final case class FieldSchema(name: String, kind: String, unit: String, doc: String, required: Boolean = true, values: Seq[String] = Nil) {

  /** The field under another name, and with more to say. */
  def as(otherName: String, more: String = ""): FieldSchema =
    copy(name = otherName, doc = if (more.isEmpty) doc else s"$doc; $more")
}

final case class ObjectSchema(name: String, doc: String, fields: Seq[FieldSchema]) {

  /** @throws java.util.NoSuchElementException
    *   there is no such field
    */
  def apply(field: String): FieldSchema = fields.find(_.name == field).getOrElse(throw new NoSuchElementException(s"$name.$field"))
}

/** The events and what they hold. The Python half reads documents by this schema. What a session does not write is not made. */
object EventSchema {
  private[tell] lazy val Placed: Form[PlacedFilter] = Form.of[PlacedFilter]
  private[tell] lazy val Outcome: Form[FilterOutcome] = Form.of[FilterOutcome]
  private[tell] lazy val Flip: Form[JoinFlip] = Form.of[JoinFlip]
  private[tell] lazy val Saving: Form[JoinSaving] = Form.of[JoinSaving]
  private[tell] lazy val Limit: Form[LimitDecision] = Form.of[LimitDecision]
  private[tell] lazy val LimitRead: Form[LimitOutcome] = Form.of[LimitOutcome]
  private[tell] lazy val LimitEvent: ObjectSchema = Form.of[LimitDecided].schema
  private[tell] lazy val PredicateEvent: ObjectSchema = Form.of[PredicateInferred].schema

  /** Every object: first a decision with its parts, then the events that contain them. */
  lazy val Objects: Seq[ObjectSchema] = {
    val ofJoins = Seq(Form.of[JoinDecided].schema, Form.of[QueryEnded].schema)
    val parts = Seq[Form[_]](Placed, Outcome, Flip, Saving, Limit, LimitRead).flatMap(_.objects)
    (DecisionJson.objects ++ ofJoins ++ parts :+ LimitEvent :+ PredicateEvent).distinctBy(_.name)
  }
}
