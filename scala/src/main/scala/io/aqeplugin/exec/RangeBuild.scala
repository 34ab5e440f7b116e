package io.aqeplugin.exec

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, QueryStageExec}
import org.apache.spark.sql.execution.aqeplugin.Relations

import io.aqeplugin.decide.Reason
import io.aqeplugin.filters._
import io.aqeplugin.observe.StageReader

/** Builds the filter of a join that compares by order: the range from the smallest to the largest value that can have a partner. */
private[exec] object RangeBuild {

  /** The filter of a finished shuffle, by a job that gives the extremes of the keys for each task.
    *
    * @throws java.lang.Exception
    *   any failure of the job
    */
  def fromShuffle(child: SparkPlan, keys: Seq[Expression], bounds: RangeBounds, startNanos: Long): BuiltFilter = {
    val columns = KeyColumn.of(keys, child.output)
    val parts = child.execute().mapPartitions(rows => Iterator.single(written(extremes(rows, columns))))
    // In their stored form: no class of the plugin goes through `spark.serializer`.
    val found = parts.sparkContext.runJob(parts, (part: Iterator[Array[Byte]]) => part.next()).map(read)
    ready(found.foldLeft(ColumnExtremes.none(keys.size))(_.merge(_)), bounds, startNanos)
  }

  /** The filter of a finished broadcast, or why its rows are not read. */
  def fromRelation(stage: BroadcastQueryStageExec, keys: Seq[Expression], bounds: RangeBounds, startNanos: Long): BuiltFilter =
    ofRelation(stage, keys).fold(BuiltFilter.PassAll(_), ready(_, bounds, startNanos))

  /** The extremes of a finished broadcast. Its rows are read once, for the decision and the filter together. */
  def ofRelation(stage: BroadcastQueryStageExec, keys: Seq[Expression]): Either[Reason, ColumnExtremes] =
    BuildRecord.extremes(stage, keys) {
      Relations.everyRow(Relations.of(stage)).map(extremes(_, KeyColumn.of(keys, stage.output)))
    }

  /** A row with a null has no partner: a comparison with a null is not true. */
  private def extremes(rows: Iterator[InternalRow], columns: Array[KeyColumn]): ColumnExtremes = {
    val collector = new ExtremesCollector(columns.length)
    val codes = new Array[Long](columns.length)
    // This loop runs once per row of the build side.
    while (rows.hasNext) {
      val row = rows.next()
      var i = 0
      while (i < columns.length && !columns(i).isNull(row)) {
        codes(i) = columns(i).code(row)
        i += 1
      }
      if (i == columns.length) collector.add(codes)
    }
    collector.result
  }

  private def ready(extremes: ColumnExtremes, bounds: RangeBounds, startNanos: Long): BuiltFilter = {
    val range = bounds.range(extremes)
    val filter = range.fold[KeyFilter](EmptySet)(RangeFilter(_))
    val buildMillis = (System.nanoTime() - startNanos) / 1000000L
    BuiltFilter.Ready(
      filter,
      FilterSummary(filter.kind, filter.sizeBytes, Seq(ColumnKeys.ofRange(range, None)), extremes.rows, buildMillis)
    )
  }

  private def written(extremes: ColumnExtremes): Array[Byte] = {
    val numbers = extremes.rows +: (extremes.least ++ extremes.greatest)
    val buffer = ByteBuffer.allocate(numbers.size * java.lang.Long.BYTES)
    numbers.foreach(buffer.putLong)
    buffer.array
  }

  private def read(bytes: Array[Byte]): ColumnExtremes = {
    val buffer = ByteBuffer.wrap(bytes)
    val numbers = Seq.fill(bytes.length / java.lang.Long.BYTES)(buffer.getLong())
    val (least, greatest) = numbers.tail.splitAt((numbers.size - 1) / 2)
    ColumnExtremes(numbers.head, least, greatest)
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
