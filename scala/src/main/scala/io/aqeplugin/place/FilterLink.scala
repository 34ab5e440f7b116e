package io.aqeplugin.place

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, Statistics}

/** The logical node that a filter's stage is linked to. No logical plan contains it, so AQE finds nothing to replace. */
final case class FilterLink(keys: Seq[Attribute]) extends LeafNode {
  override def output: Seq[Attribute] = keys
  override def computeStats(): Statistics = Statistics(sizeInBytes = BigInt(1))
}
