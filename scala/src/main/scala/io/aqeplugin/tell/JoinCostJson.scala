package io.aqeplugin.tell

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{BooleanNode, NullNode, ObjectNode}

import io.aqeplugin.decide.{JoinCost, MeasuredCost, Strategy, Unmeasured}

/** [[JoinCost]] as JSON. */
private[tell] object JoinCostJson {

  def write(cost: JoinCost): ObjectNode = {
    val node = JsonFields.emptyObject.put("joinId", cost.joinId)
    val measured = cost.measured.toOption
    node.put("strategy", measured.map(_.strategy.name).orNull)
    node.set[JsonNode]("withFilter", measured.fold[JsonNode](NullNode.instance)(cost => BooleanNode.valueOf(cost.withFilter)))
    ReasonJson.putDouble(node, "predictedMillis", measured.map(_.predictedMillis))
    ReasonJson.putDouble(node, "costMillis", measured.map(_.costMillis))
    ReasonJson.putDouble(node, "taskMillis", measured.map(_.taskMillis))
    ReasonJson.putDouble(node, "driverMillis", measured.map(_.driverMillis))
    node.put("shared", measured.exists(_.shared)).put("otherWork", measured.exists(_.otherWork))
    cost.measured.fold(why => node.put("unmeasured", why.name), _ => node.putNull("unmeasured"))
  }

  /** A cost that a newer version did not measure for a reason of its own is one whose stages were not seen. */
  def read(fields: JsonFields): Either[String, JoinCost] = for {
    joinId <- fields.text("joinId")
    why <- fields.optionalText("unmeasured")
    measured <- why.fold[Either[String, Either[Unmeasured, MeasuredCost]]](readMeasured(fields).map(Right(_)))(name =>
      Right(Left(Unmeasured.fromName(name).getOrElse(Unmeasured.StageNotSeen)))
    )
  } yield JoinCost(joinId, measured)

  private def readMeasured(fields: JsonFields): Either[String, MeasuredCost] = for {
    strategy <- fields.named("strategy", Strategy.fromName)
    withFilter <- fields.boolean("withFilter")
    predictedMillis <- fields.double("predictedMillis")
    costMillis <- fields.double("costMillis")
    taskMillis <- fields.double("taskMillis")
    driverMillis <- fields.double("driverMillis")
    shared <- fields.boolean("shared")
    otherWork <- fields.boolean("otherWork")
  } yield MeasuredCost(strategy, withFilter, predictedMillis, costMillis, taskMillis, driverMillis, shared, otherWork)
}
