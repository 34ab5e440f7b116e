package io.aqeplugin.exec

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, QueryStageExec}
import org.apache.spark.sql.execution.aqeplugin.Relations

import io.aqeplugin.decide.KeyFacts
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.{BuildKeys, KeySketches, StageReader}
import io.aqeplugin.sketch.{FewKeys, KeySummary}

/** The keys of a finished stage: as its tasks saw them, or else, of a small broadcast that nothing waited for, as the driver finds them in
  * its relation. Of a relation with many rows, the keys are only counted, and only if it has no two rows with the same.
  */
object RelationKeys extends KeySketches {

  // The rule that asks runs while a query is planned.
  private val MostRowsRead = 2048L
  private val MostRowsCounted = 1L << 17

  /** In local mode, the driver has the relation at hand. Elsewhere it reads it back, and a hash table of rows takes a page of up to 64 MiB. */
  private val MostBytesReadBack = 4L << 20

  override def rows(stage: QueryStageExec): Option[Long] = MeasuredKeys.rows(stage)

  override def of(stage: QueryStageExec, keys: Seq[Expression]): Option[KeyFacts] =
    MeasuredKeys.of(stage, keys).orElse(stage match {
      case broadcast: BroadcastQueryStageExec => ofRelation(broadcast, keys)
      case _                                  => None
    })

  /** What is known of the keys without reading them now. */
  private[exec] def known(stage: QueryStageExec, keys: Seq[Expression]): Option[KeySummary] =
    MeasuredKeys.summary(stage, keys).orElse(BuildRecord.keysRead(stage, keys))

  /** The keys, if each is known or the relation of a small broadcast can be asked. */
  override def everyKey(stage: QueryStageExec, keys: Seq[Expression]): Option[BuildKeys] =
    known(stage, keys).flatMap(MeasuredKeys.codes).orElse(stage match {
      case broadcast: BroadcastQueryStageExec => asked(broadcast, keys)
      case _                                  => None
    })

  private def asked(stage: BroadcastQueryStageExec, keys: Seq[Expression]): Option[BuildKeys] = for {
    rows <- StageReader.rows(stage) if rows <= MostRowsCounted && isAtHand(stage)
    if Relations.isLookedUpBy(stage.broadcast, keys, stage.output)
    relation <- orNone(Some(Relations.of(stage)))
    types = keys.map(_.dataType)
  } yield (probeKeys, columns) => Relations.lookup(relation, types, probeKeys, columns)

  private def ofRelation(stage: BroadcastQueryStageExec, keys: Seq[Expression]): Option[KeyFacts] = for {
    rows <- StageReader.rows(stage) if rows <= MostRowsCounted
    if isAtHand(stage)
    found <- BuildRecord.readKeys(stage, keys)(seen(stage, keys, rows)).map(MeasuredKeys.facts(_, keys))
  } yield found

  /** Whether the driver has the relation, or may read it back while a query is planned. */
  private[exec] def isAtHand(stage: BroadcastQueryStageExec): Boolean =
    stage.session.sparkContext.isLocal || stage.getRuntimeStatistics.sizeInBytes <= MostBytesReadBack

  private def seen(stage: BroadcastQueryStageExec, keys: Seq[Expression], rows: Long): Option[KeySummary] =
    orNone {
      lazy val relation = Relations.of(stage)
      if (rows <= MostRowsRead) Relations.everyRow(relation).toOption.map(read(_, KeyCoder(keys, stage.output), rows))
      else if (areOfRelation(stage, keys)) Relations.uniqueKeys(relation).map(ofUnique(rows, _))
      else None
    }

  private def orNone[A](read: => Option[A]): Option[A] =
    try read
    catch {
      case Survivable(error) if !SparkBridge.isCancellation(error) =>
        Faults.note("broadcast keys", "the keys of a build side are not known", error); None
    }

  /** Whether rows with different keys of the relation have different `keys`. */
  private def areOfRelation(stage: BroadcastQueryStageExec, keys: Seq[Expression]): Boolean = {
    val columns = keys.collect { case column: Attribute => stage.output.indexWhere(_.exprId == column.exprId) }
    columns.size == keys.size && Relations.keysOf(stage.broadcast).exists(
      _.flatMap(_.collect { case column: BoundReference => column.ordinal }).forall(columns.contains)
    )
  }

  private def ofUnique(rows: Long, keyed: Long): KeySummary =
    KeySummary(rows, nulls = math.max(0L, rows - keyed), range = None, distinct = keyed, codes = None, buckets = Nil)

  private def read(found: Iterator[InternalRow], coder: KeyCoder, rows: Long): KeySummary = {
    val keys = new FewKeys(rows.toInt, coder.areValues, coder.areTexts)
    val texts = coder.areTexts.lazyZip(coder.ordinals).toSeq.zipWithIndex.collect { case ((true, ordinal), column) => (column, ordinal) }
    // A relation has no row with a null in a key, but a computed key may be null.
    found.filterNot(coder.hasNull).foreach { row =>
      coder.columnCodes(row, keys.codes, keys.size)
      texts.foreach { case (column, ordinal) => keys.addText(column, row.getUTF8String(ordinal)) }
      keys.add()
    }
    keys.result(rows)
  }
}
