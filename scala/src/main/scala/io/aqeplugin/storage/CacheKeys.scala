package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.expressions.In
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.adaptive.aqeplugin.FinishedCaches
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

import io.aqeplugin.observe.TableStatistics

/** Batches of cached tables: Spark skips those whose bounds exclude all keys. It keeps bounds, uncut, of each type of which there are literals
  * of keys.
  */
private[storage] object CacheKeys extends KeyedFormat {

  /** So many keys are compared one by one with the bounds of each batch. */
  private val MostListed = 64

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case stage: TableCacheQueryStageExec if stage.isMaterialized =>
      for {
        cache <- CacheScan.of(stage)
        condition <- keys.literals.filter(_.size <= MostListed).map(In(keys.column, _)).orElse(keys.isInRanges)
      } yield {
        val keyed = KeyedFormat.linked(cache, cache.copy(predicates = cache.predicates :+ condition))
        KeyedFormat.linked(stage, FinishedCaches.reading(stage, keyed))
      }
    case _ => None
  }
}

/** The scan of a cached table, or of its stage, which loads the table for all its readers and reads nothing. */
object CacheScan {
  def of(plan: SparkPlan): Option[InMemoryTableScanExec] = plan match {
    case cache: InMemoryTableScanExec    => Some(cache)
    case stage: TableCacheQueryStageExec => of(stage.plan)
    case _                               => None
  }
}
