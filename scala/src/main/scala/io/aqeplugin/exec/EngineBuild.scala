package io.aqeplugin.exec

import java.io.Serializable

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}

import io.aqeplugin.filters.{CodeRange, CodeTable, ColumnExtremes, EmptySet, ExactSet, ExtremesCollector, JavaBytes}

/** Finds what an engine checks of the keys of a finished build side, in one pass over its rows: a Bloom filter of Spark's over their
  * hashes, the range of each column, and the values of a single column while they are few.
  *
  * @param bits
  *   of the Bloom filter of as many keys as there are rows; none if it may not be so large, and then only few keys make one
  */
private[exec] final case class EngineBuild(keys: Seq[Expression], output: Seq[Attribute], coder: KeyCoder, bits: Option[Long])
    extends Serializable {
  import EngineBuild._

  /** The keys of all partitions, by a job of few enough tasks for the driver to have what each of them found.
    *
    * @throws java.lang.Exception
    *   any failure of the job
    */
  def ofRows(rows: RDD[InternalRow]): Found = {
    val most = (MostBytesOfParts / partBytes).toInt.max(1)
    // Each task makes a whole Bloom filter, so there is one for a slot at most; where keys can only be listed, more tasks list more of them.
    val tasks = if (bits.isDefined) SparkBridge.taskSlots(rows.sparkContext).max(1).min(most) else most
    val fewer = if (rows.getNumPartitions > tasks) rows.coalesce(tasks) else rows
    val parts = fewer.mapPartitions { part =>
      val found = ofRows(part)
      Iterator.single(JavaBytes.write(found, found.hashes.sizeBytes))
    }
    merged(parts.sparkContext.runJob(parts, (part: Iterator[Array[Byte]]) => part.next()).iterator.map(JavaBytes.read[Found]))
  }

  /** What one task finds at most. */
  private def partBytes: Long = math.max(bits.fold(0L)(_ / java.lang.Byte.SIZE), KeyHashes.MostOfTask.toLong * java.lang.Long.BYTES)

  private def merged(parts: Iterator[Found]): Found = {
    val hashes = new HashCollector(bits, KeyHashes.MostOfDriver)
    val none = Found(KeyHashes.None, new ExtremesCollector(keys.size).result, Option.when(coder.isExact)(Array.empty[Long]))
    val others = parts.foldLeft(none) { (one, other) =>
      hashes.add(other.hashes)
      val values = for (a <- one.values; b <- other.values; both = (a ++ b).distinct if both.length <= ColumnKeys.MaxValues) yield both
      Found(one.hashes, one.extremes.merge(other.extremes), values)
    }
    others.copy(hashes = hashes.result)
  }

  /** The keys of rows, none of which is kept. */
  def ofRows(rows: Iterator[InternalRow]): Found = {
    val hash = HashedKeys.hasher(keys, output)
    val hashes = new HashCollector(bits, KeyHashes.MostOfTask)
    val extremes = new ExtremesCollector(keys.size)
    val codes = new Array[Long](keys.size)
    val values = new CodeTable(0)
    val listed = coder.isExact
    // This loop runs once per row of the build side.
    while (rows.hasNext && !hashes.areTooMany) {
      val row = rows.next()
      if (!coder.hasNull(row)) {
        coder.codes(row, codes)
        extremes.add(codes)
        if (listed && values.size <= ColumnKeys.MaxValues) { val _ = values.add(codes(0)) }
        hashes.add(hash(row))
      }
    }
    Found(hashes.result, extremes.result, Option.when(listed && values.size <= ColumnKeys.MaxValues)(values.codes))
  }
}

private[exec] object EngineBuild {

  /** A larger Bloom filter is none: each task of the scan has a copy or two, outside of all budgets. Spark's own filter has this limit too.
    */
  val MaxBytes: Long = 8L << 20

  /** Of what all tasks find, which the driver has at once. */
  private val MostBytesOfParts = 64L << 20

  /** What is known of all keys.
    *
    * @param values
    *   all codes of the only column, in no order; none if they are many, or no values
    */
  final case class Found(hashes: KeyHashes, extremes: ColumnExtremes, values: Option[Array[Long]]) {

    /** What is known of each column. Hashes say nothing of its values. */
    def columns(areValues: Seq[Boolean]): Seq[ColumnKeys] = values match {
      case Some(codes) =>
        val sorted = codes.sorted
        Seq(ColumnKeys.ofValues(sorted, Some(ExactSet.of(sorted).getOrElse(EmptySet))))
      case None => areValues.indices.map(i => ColumnKeys.ofRange(range(i).filter(_ => areValues(i)), None))
    }

    private def range(i: Int): Option[CodeRange] = Option.when(extremes.rows > 0)(CodeRange(extremes.least(i), extremes.greatest(i)))
  }
}
