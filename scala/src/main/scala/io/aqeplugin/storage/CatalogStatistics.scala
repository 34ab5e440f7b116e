package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.catalog.{CatalogColumnStat, CatalogTable}
import org.apache.spark.sql.types._

import io.aqeplugin.decide.{EstimateSource, KeyBucket, RowEstimate}
import io.aqeplugin.observe.{TableFacts, Wholes}

/** What `ANALYZE TABLE` left in the catalog: rows, distinct values, smallest and largest values. It may be out of date, so it must decide
  * nothing but what is worth doing.
  */
object CatalogStatistics {

  /** Facts of a table, of all its partitions; none if it has not been analyzed. */
  def of(table: CatalogTable): Option[TableFacts] =
    for (statistics <- table.stats) yield {
      val columns = statistics.colStats.toSeq.flatMap { case (name, column) => table.schema.find(_.name == name).map(_ -> column) }
      TableFacts(
        statistics.rowCount.map(rows => RowEstimate(rows.min(Long.MaxValue).toLong, EstimateSource.Catalog)),
        Some(statistics.sizeInBytes.min(Long.MaxValue).toLong).filter(_ > 0),
        columns.flatMap { case (field, column) => range(field, column).map(field.name -> _) }.toMap,
        columns.flatMap { case (field, column) => column.distinctCount.map(field.name -> _.min(Long.MaxValue).toLong) }.toMap,
        columns.flatMap { case (field, column) => histogram(field, column).map(field.name -> _) }.toMap,
        Some(statistics)
      )
    }

  /** Neighbouring buckets share an end. Ends are doubles, so those of longs beyond 2^53 are rounded. */
  private def histogram(field: StructField, column: CatalogColumnStat): Option[Seq[KeyBucket]] =
    for (found <- column.histogram if Wholes.areOrdered(field.dataType) && !Wholes.areTimestamps(field.dataType)) yield {
      val buckets =
        found.bins.toSeq.map(bin => KeyBucket(math.ceil(bin.lo).toLong, math.floor(bin.hi).toLong, math.max(1L, math.round(found.height))))
      merged(buckets.filter(bucket => bucket.low <= bucket.high))
    }

  /** Joins neighbours that hold one value, then light ones until few are left: a value that fills many buckets keeps one for itself. */
  private def merged(buckets: Seq[KeyBucket]): Seq[KeyBucket] = {
    val light = buckets.map(_.rows).sum / (MostBuckets / 2)
    val ofOneValue = joined(buckets)((last, next) => last.low == next.low && last.high == next.high)
    joined(ofOneValue)((last, next) => last.rows + next.rows <= light)
  }

  private def joined(buckets: Seq[KeyBucket])(belong: (KeyBucket, KeyBucket) => Boolean): Seq[KeyBucket] =
    buckets.foldLeft(Vector.empty[KeyBucket]) {
      case (before :+ last, next) if belong(last, next) => before :+ KeyBucket(last.low, next.high, last.rows + next.rows)
      case (before, next)                               => before :+ next
    }

  // Spark has 254 by default. Each is in the event of a decision.
  private val MostBuckets = 64

  private def range(field: StructField, column: CatalogColumnStat): Option[(Long, Long)] = {
    // Spark stores times as texts in UTC, whatever the session's time zone.
    def value(text: Option[String]): Option[Long] = for {
      found <- text
      internal <- Try(CatalogColumnStat.fromExternalString(found, field.name, field.dataType, column.version)).toOption
      number <- Wholes.of(internal)
    } yield number
    if (Wholes.areOrdered(field.dataType)) value(column.min).zip(value(column.max)) else None
  }
}
