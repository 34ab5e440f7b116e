package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, QueryStageExec}
import org.apache.spark.sql.execution.aqeplugin.Relations

import io.aqeplugin.decide.Reason
import io.aqeplugin.filters._
import io.aqeplugin.observe.StageReader

/** Finds the range of a join that compares by order: from the smallest to the largest value that can have a partner. */
private[exec] object RangeBuild {

  /** The extremes of a finished shuffle, by a job that gives those of each task.
    *
    * @throws java.lang.Exception
    *   any failure of the job
    */
  def ofShuffle(child: SparkPlan, keys: Seq[Expression]): ColumnExtremes = {
    val coder = KeyCoder(keys, child.output)
    val parts = child.execute().mapPartitions(rows => Iterator.single(JavaBytes.write(extremes(rows, coder))))
    val found = parts.sparkContext.runJob(parts, (part: Iterator[Array[Byte]]) => part.next()).map(JavaBytes.read[ColumnExtremes])
    found.foldLeft(ColumnExtremes.none(keys.size))(_.merge(_))
  }

  /** The extremes of a finished broadcast. Its rows are read once, for the decision and the filter together. */
  def ofRelation(stage: BroadcastQueryStageExec, keys: Seq[Expression]): Either[Reason, ColumnExtremes] =
    BuildRecord.extremes(stage, keys) {
      Relations.everyRow(Relations.of(stage)).map(extremes(_, KeyCoder(keys, stage.output)))
    }

  /** A row with a null has no partner: a comparison with a null is not true. */
  private def extremes(rows: Iterator[InternalRow], coder: KeyCoder): ColumnExtremes = {
    val codes = new Array[Long](coder.areValues.size)
    val collector = new ExtremesCollector(codes.length)
    // This loop runs once per row of the build side.
    while (rows.hasNext) {
      val row = rows.next()
      if (!coder.hasNull(row)) {
        coder.codes(row, codes)
        collector.add(codes)
      }
    }
    collector.result
  }
}

/** What the range of a finished broadcast is, before a filter is built from it. */
object MeasuredRange {

  /** The rule that asks runs while a query is planned. */
  private val MaxRows = 500000L

  /** The range; none if the stage is no broadcast, has too many rows, takes too many bytes to read it back, or no row has a partner. */
  def of(stage: QueryStageExec, keys: Seq[Expression], bounds: RangeBounds): Option[CodeRange] = stage match {
    case broadcast: BroadcastQueryStageExec
        if broadcast.isMaterialized && StageReader.rows(broadcast).exists(_ <= MaxRows) && RelationKeys.isAtHand(broadcast) =>
      RangeBuild.ofRelation(broadcast, keys).toOption.flatMap(bounds.range)
    case _ => None
  }
}
