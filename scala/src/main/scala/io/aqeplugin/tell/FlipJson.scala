package io.aqeplugin.tell

import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory}

import io.aqeplugin.decide.FlipPoint

/** A flip point of one join of a query. */
final case class JoinFlip(joinId: String, point: FlipPoint)

/** The JSON form of flip points, in events and in `aqe_decisions()`. */
private[tell] object FlipJson {
  private val nodes = JsonNodeFactory.instance

  def write(flips: Seq[JoinFlip]): ArrayNode = flips.foldLeft(nodes.arrayNode()) { (array, flip) =>
    val point = flip.point
    array.add(
      nodes.objectNode().put("joinId", flip.joinId).put("fact", point.input.name).put("unit", point.input.unit)
        .put("actual", point.actual).put("value", point.value).put("choice", point.choice.name).put("withFilter", point.withFilter)
    )
  }
}
