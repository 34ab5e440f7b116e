package io.aqeplugin.rules

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.adaptive.QueryStageExec

import io.aqeplugin.decide.KeyFacts
import io.aqeplugin.exec.{MeasuredKeys, MeasuredRange}
import io.aqeplugin.filters.RangeBounds
import io.aqeplugin.observe.{BuildKeys, KeyKind, KeySketches}

/** The facts of a join that compares by order, as if each value of the range were a key: the pass rate is then the share of the probe
  * side's range that the range covers.
  */
private[rules] final case class RangeFacts(bounds: RangeBounds) extends KeySketches {
  override def rows(stage: QueryStageExec): Option[Long] = MeasuredKeys.rows(stage)

  override def everyKey(stage: QueryStageExec, keys: Seq[Expression]): Option[BuildKeys] = None

  override def of(stage: QueryStageExec, keys: Seq[Expression]): Option[KeyFacts] = Some(
    MeasuredRange.of(stage, keys, bounds).fold(RangeFacts.unmeasured(keys.forall(key => KeyKind.of(key.dataType).isRight)))(range =>
      RangeFacts.of(range.min, range.max)
    )
  )
}

private[rules] object RangeFacts {

  def unmeasured(supported: Boolean): KeyFacts = KeyFacts(1, supported, asRange = true)

  /** Every value from `min` to `max` as a key. */
  def of(min: Long, max: Long): KeyFacts = {
    val width = max - min + 1
    unmeasured(supported = true).copy(distinct = Some(if (width > 0) width else Long.MaxValue), min = Some(min), max = Some(max))
  }
}
