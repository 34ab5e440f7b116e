package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}

import io.aqeplugin.decide.{KeyBucket, KeyFacts}
import io.aqeplugin.observe.{BuildKeys, JoinKey, KeySketches}
import io.aqeplugin.sketch.{KeySummary, SketchProgress}

/** The keys of a finished stage as a [[KeySketchExec]] in it saw them. */
object MeasuredKeys extends KeySketches {

  override def of(stage: QueryStageExec, keys: Seq[Expression]): Option[KeyFacts] = summary(stage, keys).map(facts(_, keys))

  override def everyKey(stage: QueryStageExec, keys: Seq[Expression]): Option[BuildKeys] =
    summary(stage, keys).flatMap(codes)

  private[exec] def codes(seen: KeySummary): Option[BuildKeys] =
    seen.codes.map(BuildKeys.ofCodes(_, areValues = seen.range.isDefined, if (seen.texts.size == 1) seen.texts.head else None))

  private[exec] def facts(seen: KeySummary, keys: Seq[Expression]): KeyFacts = KeyFacts(
    keys.size,
    supported = true,
    distinct = Some(seen.distinct),
    nulls = Some(seen.nulls),
    min = seen.range.map(_.min),
    max = seen.range.map(_.max),
    histogram = seen.buckets.map(bucket => KeyBucket(bucket.low, bucket.high, bucket.rows)),
    kept = seen.codes.isDefined
  )

  override def rows(stage: QueryStageExec): Option[Long] =
    sketchOf(stage.plan).filter(_ => stage.isMaterialized).flatMap(_.summary).map(_.rows)

  /** The summary, if the stage sketched exactly these keys and no row is missing. */
  def summary(stage: QueryStageExec, keys: Seq[Expression]): Option[KeySummary] = for {
    sketch <- sketchOf(stage.plan) if stage.isMaterialized
    if sketch.numberedKeys == JoinKey.numbered(keys, stage.output)
    keysSeen <- sketch.summary
  } yield keysSeen

  /** How far a running stage that sketches keys is; none before its first task has finished. */
  def progress(stage: QueryStageExec): Option[SketchProgress] = sketchOf(stage.plan).flatMap(_.progress)

  private def sketchOf(plan: SparkPlan): Option[KeySketchExec] = plan match {
    case sketch: KeySketchExec                                                                             => Some(sketch)
    case wrapper @ (_: Exchange | _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowTransition) =>
      wrapper.children.headOption.flatMap(sketchOf)
    case reused: ReusedExchangeExec => sketchOf(reused.child)
    case _                          => None
  }
}
