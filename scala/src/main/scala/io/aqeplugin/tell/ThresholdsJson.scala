package io.aqeplugin.tell

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide.Thresholds

/** [[Thresholds]] as JSON: a flat object of conf keys, with or without `spark.aqePlugin.`, and values in conf syntax:
  * `{"filter.maxPassRate": 0.5, "broadcast.maxMemoryBytes": "64m"}`. A missing key has its default.
  */
private[tell] object ThresholdsJson {

  /** Every threshold, under its short name. */
  def write(thresholds: Thresholds): ObjectNode = {
    val node = JsonFields.emptyObject
    AqeConf.ThresholdKeys.foreach { entry =>
      (thresholds(entry): Any) match {
        case flag: Boolean  => node.put(entry.shortKey, flag)
        case number: Long   => node.put(entry.shortKey, number)
        case number: Double => node.put(entry.shortKey, number)
        case other          => node.put(entry.shortKey, other.toString)
      }
    }
    node
  }

  /** @param strict
    *   whether an unknown name is an error; otherwise it is ignored
    */
  def read(node: ObjectNode, strict: Boolean): Either[String, Thresholds] = {
    val overrides = node.fieldNames.asScala.map(name => name.stripPrefix(AqeConf.Prefix) -> node.get(name)).toMap
    val unknown = overrides.keys.toSeq.sorted.filterNot(name => AqeConf.ThresholdKeys.exists(_.shortKey == name))
    if (strict && unknown.nonEmpty) Left(s"${unknown.head}: no such threshold")
    else AqeConf.read(key => textOf(key, overrides)).left.map(_.message).map(Thresholds(_))
  }

  private def textOf(key: String, overrides: Map[String, JsonNode]): Option[String] =
    AqeConf.ThresholdKeys.find(_.key == key).flatMap(entry => overrides.get(entry.shortKey)).map(asConf)

  // 1e9 and 1000000000.0 are whole numbers; a conf writes them without point and exponent.
  private def asConf(value: JsonNode): String =
    if (value.isNumber) value.decimalValue.stripTrailingZeros.toPlainString else value.asText
}
