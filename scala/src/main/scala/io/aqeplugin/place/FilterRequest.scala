package io.aqeplugin.place

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.filters.RangeBounds

/** A filter that a join requests in one place, a scan or the input of an exchange.
  *
  * @param source
  *   the build side's exchange or stage as it is in the plan
  * @param sourceKeys
  *   the keys over the source's columns
  * @param bounds
  *   how the source's keys bound the target's; none if they equal them
  */
final case class FilterRequest(
    source: SparkPlan,
    sourceKeys: Seq[Expression],
    bounds: Option[RangeBounds],
    target: FilterTarget
)
