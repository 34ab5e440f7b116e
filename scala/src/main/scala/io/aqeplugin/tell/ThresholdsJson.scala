package io.aqeplugin.tell

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide.Thresholds

/** Reads [[Thresholds]] from JSON: a flat object of conf keys, with or without `spark.aqePlugin.`, and values in conf syntax:
  * `{"filter.maxPassRate": 0.5, "broadcast.maxMemoryBytes": "64m"}`. A missing key has its default.
  */
private[tell] object ThresholdsJson {

  /** An unknown name is an error. */
  def read(node: ObjectNode): Either[String, Thresholds] = {
    val overrides = node.fieldNames.asScala.map(name => name.stripPrefix(AqeConf.Prefix) -> node.get(name)).toMap
    overrides.keys.toSeq.sorted.find(name => !AqeConf.ThresholdKeys.exists(_.shortKey == name)) match {
      case Some(unknown) => Left(s"$unknown: no such threshold")
      case None          => AqeConf.read(key => textOf(key, overrides)).left.map(_.message).map(Thresholds(_))
    }
  }

  private def textOf(key: String, overrides: Map[String, JsonNode]): Option[String] =
    AqeConf.ThresholdKeys.find(_.key == key).flatMap(entry => overrides.get(entry.shortKey)).map(asConf)

  // 1e9 and 1000000000.0 are whole numbers; a conf writes them without point and exponent.
  private def asConf(value: JsonNode): String =
    if (value.isNumber) value.decimalValue.stripTrailingZeros.toPlainString else value.asText
}
