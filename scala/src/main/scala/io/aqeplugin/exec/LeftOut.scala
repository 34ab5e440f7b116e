package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan

/** Data files of a scan that keys left out before it started, where its source tells. */
final case class LeftOut(files: Long, bytes: Long) {
  def +(other: LeftOut): LeftOut = LeftOut(files + other.files, bytes + other.bytes)
  def -(other: LeftOut): LeftOut = LeftOut(files - other.files, bytes - other.bytes)
}

object LeftOut {
  val Nothing: LeftOut = LeftOut(0L, 0L)

  private val tag = TreeNodeTag[LeftOut]("aqePlugin.leftOut")

  /** By all keys that a scan node has. */
  def of(scan: SparkPlan): LeftOut = scan.getTagValue(tag).getOrElse(Nothing)

  /** The scan, of which it is known. */
  def noted[P <: SparkPlan](scan: P, leftOut: LeftOut): P = {
    scan.setTagValue(tag, leftOut)
    scan
  }
}
