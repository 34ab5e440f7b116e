package io.aqeplugin.exec

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aqeplugin.Relations
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, QueryStageExec, ShuffleQueryStageExec, TableCacheQueryStageExec}
import org.apache.spark.util.sketch.BloomFilter

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.filters._
import io.aqeplugin.observe.RowWidth
import io.aqeplugin.sketch.KeySummary

/** Builds a filter from the output of a finished build stage: from the keys that a [[KeySketchExec]] kept while the stage ran, if they are
  * few enough; else with a job over the partitions of the shuffle or of the cached table, whose parts [[MergeTree]] merges, or in a loop on
  * the driver for a small relation that is broadcast anyway.
  *
  * @param bounds
  *   how the keys bound the values that pass; none if the keys themselves pass
  * @param startNanos
  *   when it began to wait for a thread, as `System.nanoTime`
  */
private[exec] final class FilterBuild(
    child: SparkPlan,
    keys: Seq[Expression],
    bounds: Option[RangeBounds],
    limits: BuildLimits,
    joinId: String,
    startNanos: Long
) {
  import FilterBuild._

  private lazy val coder = KeyCoder(keys, child.output)

  /** @throws java.lang.Exception
    *   any failure of the job; the caller replaces it by a filter that passes all rows
    */
  def run(): BuiltFilter = RuntimeFilterExchangeExec.stageOf(child) match {
    case Some(stage: ShuffleQueryStageExec) if SparkBridge.isIndeterminate(stage.shuffle) =>
      // A retried task could give keys other than those the filter was built from.
      BuiltFilter.PassAll(Reason(ReasonCode.NonDeterministic))
    // AQE kept the plan that holds the filter back.
    case Some(stage) if WaitClockExec.sourceHeld(stage).isDefined => NoExchange
    case Some(stage) if limits.forEngine && bounds.isEmpty        => ofEngine(stage)
    case Some(stage)                                              =>
      val seen = if (bounds.isEmpty) RelationKeys.known(stage, keys) else None
      val built = seen.flatMap(fromSketch).getOrElse(fromStage(stage, limitsFor(distinctKeys(stage, seen))))
      seen.fold(built)(withColumns(built, _))
    case None => NoExchange
  }

  private def limitsFor(distinctKeys: Long): FilterLimits = limits.filter.copy(expectedKeys = distinctKeys)

  private def fromStage(stage: QueryStageExec, most: FilterLimits): BuiltFilter = (stage, bounds) match {
    case (_: ShuffleQueryStageExec | _: TableCacheQueryStageExec, None)        => fromShuffle(most)
    case (_: ShuffleQueryStageExec | _: TableCacheQueryStageExec, Some(range)) => ofRange(RangeBuild.ofShuffle(child, keys), range)
    case (broadcast: BroadcastQueryStageExec, _)                               => fromRelation(broadcast, most)
    case _                                                                     => NoExchange
  }

  private def ofEngine(stage: QueryStageExec): BuiltFilter = {
    val most = math.min(limits.filter.maxFilterBytes, EngineBuild.MaxBytes)
    val bits = bitsOf(stageRows(stage))
    val bytes = bits / java.lang.Byte.SIZE
    val refused = tooBig(bytes.toDouble, most, if (most < EngineBuild.MaxBytes) AqeConf.FilterMaxBytes.key else "")
    val build = EngineBuild(keys, child.output, coder, Option.when(bytes <= most)(bits))
    (stage match {
      case broadcast: BroadcastQueryStageExec => rowsOf(broadcast, limits.filter.maxFilterBytes).map(build.ofRows(_))
      case _                                  => Right(build.ofRows(child.execute()))
    }).flatMap(found => found.hashes.filter(bitsOf).toRight(refused).map(ofEngine(found, _)))
      .fold(BuiltFilter.PassAll(_), identity)
  }

  private def bitsOf(keys: Long): Long = BloomFilter.optimalNumOfBits(math.max(1L, keys), limits.filter.falsePositiveRate)

  private def ofEngine(found: EngineBuild.Found, filter: Array[Byte]): BuiltFilter = {
    val hashed = HashedKeys.of(filter, joinId)
    BuiltFilter.OfEngine(
      FilterSummary(
        HashedKeys.Kind,
        hashed.sizeBytes,
        found.columns(coder.areValues),
        found.extremes.rows,
        (System.nanoTime() - startNanos) / 1000000L,
        Some(hashed)
      )
    )
  }

  /** Of a key of several columns, what the stage's tasks saw of each; and of every column the texts that they kept. */
  private def withColumns(built: BuiltFilter, seen: KeySummary): BuiltFilter = built match {
    case ready: BuiltFilter.Ready =>
      val columns =
        if (seen.columns.isEmpty) ready.summary.columns else seen.columns.lazyZip(coder.areValues).map(ColumnKeys.ofSketch(_, _))
      val withTexts =
        if (seen.texts.isEmpty) columns else columns.lazyZip(seen.texts).map((column, texts) => column.copy(texts = texts))
      ready.copy(summary = ready.summary.copy(columns = withTexts))
    case other => other
  }

  /** The filter of all keys that the stage's tasks kept; none if there were too many to keep. */
  private def fromSketch(seen: KeySummary): Option[BuiltFilter] = seen.codes.map { codes =>
    val collector = new KeyCollector(limitsFor(codes.length.toLong), coder.isExact)
    codes.foreach(collector.add)
    finish(collector.result(), 1, seen.rows - seen.nulls)
  }

  /** An upper bound of the distinct keys, with room for the error of an estimate. */
  private def distinctKeys(stage: QueryStageExec, seen: Option[KeySummary]): Long =
    seen.fold(stageRows(stage))(keys => math.min(keys.rows, keys.distinct + keys.distinct / 5))

  private def fromShuffle(most: FilterLimits): BuiltFilter = {
    val ofRows = coder // a task gets this and nothing else
    val parts = child.execute().mapPartitions(rows => Iterator.single(MergeTree.written(collect(rows, ofRows, most))))
    val count = parts.getNumPartitions
    val merged = if (count == 0) collect(Iterator.empty, ofRows, most) else MergeTree.merged(parts, MergeTree.driverParts(most))
    finish(merged, math.max(1, count), merged.addedKeys)
  }

  private def fromRelation(stage: BroadcastQueryStageExec, most: FilterLimits): BuiltFilter = {
    val built = bounds match {
      case Some(range) => readable(stage, most.maxFilterBytes).flatMap(RangeBuild.ofRelation(_, keys)).map(ofRange(_, range))
      case None        => rowsOf(stage, most.maxFilterBytes).map { rows =>
          val partial = collect(rows, coder, most)
          finish(partial, 1, partial.addedKeys)
        }
    }
    built.fold(BuiltFilter.PassAll(_), identity)
  }

  private def rowsOf(stage: BroadcastQueryStageExec, mostBytes: Long): Either[Reason, Iterator[InternalRow]] =
    readable(stage, mostBytes).flatMap(found => Relations.rows(Relations.of(found)))

  /** The relation, unless it is too large for the driver, which has to read it back as objects. Rows are counted because a relation reports
    * the 64 MiB of a page, however little it holds.
    */
  private def readable(stage: BroadcastQueryStageExec, mostBytes: Long): Either[Reason, BroadcastQueryStageExec] = {
    val bytes = stageRows(stage).toDouble * RowWidth.ofRow(stage.output)
    Either.cond(bytes <= mostBytes, stage, tooBig(bytes, mostBytes))
  }

  private def ofRange(extremes: ColumnExtremes, bounds: RangeBounds): BuiltFilter = {
    val range = bounds.range(extremes)
    ready(range.fold[KeyFilter](EmptySet)(RangeFilter(_)), Seq(ColumnKeys.ofRange(range, None)), extremes.rows)
  }

  private def finish(partial: PartialFilter, parts: Int, keyedRows: Long): BuiltFilter = partial.toFilter(parts) match {
    case Left(refusal) => BuiltFilter.PassAll(refused(refusal))
    case Right(filter) =>
      val isOne = coder.areValues.size == 1
      ready(filter, if (isOne) Seq(onlyColumn(filter, partial, coder)) else coder.areValues.map(_ => ColumnKeys.Unknown), keyedRows)
  }

  private def ready(filter: KeyFilter, columns: Seq[ColumnKeys], rows: Long): BuiltFilter =
    BuiltFilter.Ready(filter, FilterSummary(filter.kind, filter.sizeBytes, columns, rows, (System.nanoTime() - startNanos) / 1000000L))
}

private object FilterBuild {
  private val NoExchange = BuiltFilter.PassAll(Reason(ReasonCode.NoBuildExchange))

  private def collect(rows: Iterator[InternalRow], coder: KeyCoder, limits: FilterLimits): PartialFilter = {
    val collector = new KeyCollector(limits, coder.isExact)
    // This loop runs once per row of the build side.
    while (rows.hasNext) {
      val row = rows.next()
      if (!coder.hasNull(row)) collector.add(coder.code(row))
    }
    collector.result()
  }

  private def onlyColumn(filter: KeyFilter, partial: PartialFilter, coder: KeyCoder): ColumnKeys = {
    val small = Option.when(filter.sizeBytes <= ColumnKeys.MaxKeptBytes)(filter)
    filter match {
      case exact: ExactFilter if coder.isExact && exact.distinctCodes <= ColumnKeys.MaxRangedKeys =>
        ColumnKeys.ofValues(exact.sortedCodes, small)
      case _ => ColumnKeys.ofRange(partial.range.filter(_ => coder.isExact), small)
    }
  }

  private def refused(refusal: FilterRefusal): Reason = refusal match {
    case FilterRefusal.TooManyBytes(needed, limit) =>
      tooBig(needed.toDouble, limit)
    case FilterRefusal.Overfull(rate, limit) =>
      Reason(ReasonCode.PassRateTooHigh, Some(rate), Some(limit), "ratio")
    case FilterRefusal.IncompleteBuild(_, _) | FilterRefusal.IncompatibleParts => Reason(ReasonCode.BuildFailed)
  }

  private def tooBig(bytes: Double, limitBytes: Long, confKey: String = AqeConf.FilterMaxBytes.key): Reason =
    Reason(ReasonCode.FilterTooBig, Some(bytes), Some(limitBytes.toDouble), "bytes", confKey)

  private def stageRows(stage: QueryStageExec): Long =
    stage.getRuntimeStatistics.rowCount.map(_.min(Long.MaxValue).toLong).getOrElse(Long.MaxValue)
}
