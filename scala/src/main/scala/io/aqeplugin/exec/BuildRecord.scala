package io.aqeplugin.exec

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, QueryStageExec, ShuffleQueryStageExec, TableCacheQueryStageExec}

import io.aqeplugin.decide.Reason
import io.aqeplugin.filters.{ColumnExtremes, RangeBounds}
import io.aqeplugin.observe.JoinKey
import io.aqeplugin.sketch.KeySummary

/** What is kept on a build side's own exchange, or its scan of a cached table: the filters that were built from it, and the extremes and keys that were read from its
  * rows. Re-planning makes every node anew except stages, so a rule can look up the values of a finished filter there, and the record is
  * freed with the query.
  */
object BuildRecord {

  /** @param times
    *   how often it was built; more than once means that AQE did not find the first filter
    */
  final case class Built(result: Either[Reason, FilterSummary], times: Int)

  /** By the keys over numbered columns, because a reused exchange has other column ids. */
  private final class Record {
    val filters = new ConcurrentHashMap[(Seq[Expression], Option[RangeBounds]), Built]()
    val extremes = new ConcurrentHashMap[Seq[Expression], Either[Reason, ColumnExtremes]]()
    val keys = new ConcurrentHashMap[Seq[Expression], Option[KeySummary]]()
  }

  private val Tag = TreeNodeTag[Record]("aqe_plugin_build_record")

  /** Must be called while the rule alone holds the stage, so that later writers find the record. */
  def prepare(stage: SparkPlan): Unit = { val _ = recordOf(stage) }

  def note(child: SparkPlan, keys: Seq[Expression], bounds: Option[RangeBounds], result: Either[Reason, FilterSummary]): Unit = {
    val build = RuntimeFilterExchangeExec.buildOf(child)
    recordOf(build).foreach(
      _.filters.merge(
        (JoinKey.numbered(keys, build.output), bounds),
        Built(result, 1),
        (earlier, now) => Built(now.result, earlier.times + 1)
      )
    )
  }

  /** The filter over `keys` of a finished build stage, by the values of the keys or by `bounds`, if one was built. */
  def get(stage: SparkPlan, keys: Seq[Expression], bounds: Option[RangeBounds]): Option[Built] =
    new Reading().get(stage, keys, bounds)

  /** The filters as they were when each was first asked for: copies of a scan that Spark runs once are made alike though a filter is finished
    * meanwhile. For one thread.
    */
  final class Reading {
    private val asked = mutable.Map.empty[(Record, Seq[Expression], Option[RangeBounds]), Option[Built]]

    /** As [[BuildRecord.get]]. */
    def get(stage: SparkPlan, keys: Seq[Expression], bounds: Option[RangeBounds]): Option[Built] = for {
      exchange <- exchangeOf(stage)
      record <- exchange.getTagValue(Tag)
      columns = JoinKey.numbered(keys, stage.output)
      filter <- asked.getOrElseUpdate((record, columns, bounds), Option(record.filters.get((columns, bounds))))
    } yield filter
  }

  /** The extremes of `keys`, read from the rows of a finished broadcast once, whoever asks. */
  private[exec] def extremes(stage: BroadcastQueryStageExec, keys: Seq[Expression])(
      read: => Either[Reason, ColumnExtremes]
  ): Either[Reason, ColumnExtremes] =
    recordOf(stage).fold(read)(_.extremes.computeIfAbsent(JoinKey.numbered(keys, stage.output), _ => read))

  /** The keys of the rows of a finished broadcast, read once, whoever asks. */
  private[exec] def readKeys(stage: BroadcastQueryStageExec, keys: Seq[Expression])(read: => Option[KeySummary]): Option[KeySummary] =
    recordOf(stage).fold(read)(_.keys.computeIfAbsent(JoinKey.numbered(keys, stage.output), _ => read))

  /** The same, if they have been read. */
  private[exec] def keysRead(stage: QueryStageExec, keys: Seq[Expression]): Option[KeySummary] = for {
    exchange <- exchangeOf(stage)
    record <- exchange.getTagValue(Tag)
    summary <- Option(record.keys.get(JoinKey.numbered(keys, stage.output)))
    found <- summary
  } yield found

  /** The record of a stage, made if it has none. */
  private def recordOf(stage: SparkPlan): Option[Record] = exchangeOf(stage).flatMap { exchange =>
    Tag.synchronized {
      if (exchange.getTagValue(Tag).isEmpty) exchange.setTagValue(Tag, new Record)
      exchange.getTagValue(Tag)
    }
  }

  private def exchangeOf(stage: SparkPlan): Option[SparkPlan] = stage match {
    case s: ShuffleQueryStageExec    => Some(s.shuffle)
    case b: BroadcastQueryStageExec  => Some(b.broadcast)
    case c: TableCacheQueryStageExec => Some(c.inMemoryTableScan)
    case _                           => None
  }
}
