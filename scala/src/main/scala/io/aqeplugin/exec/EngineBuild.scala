package io.aqeplugin.exec

import java.io.{ByteArrayOutputStream, Serializable}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.util.sketch.BloomFilter

import io.aqeplugin.filters.{CodeRange, CodeTable, ColumnExtremes, EmptySet, ExactSet, ExtremesCollector, JavaBytes}

/** Finds what an engine checks of the keys of a finished build side, in one pass over its rows: a Bloom filter of Spark's over their
  * hashes, the range of each column, and the values of a single column while they are few.
  *
  * @param bits
  *   of the Bloom filter
  */
private[exec] final case class EngineBuild(keys: Seq[Expression], output: Seq[Attribute], coder: KeyCoder, bits: Long)
    extends Serializable {
  import EngineBuild._

  /** The keys of all partitions, by a job with as many tasks as can run at once: each makes a whole Bloom filter.
    *
    * @throws java.lang.Exception
    *   any failure of the job
    */
  def ofRows(rows: RDD[InternalRow]): Found = {
    val tasks = SparkBridge.taskSlots(rows.sparkContext).max(1).min(MostTasks)
    val fewer = if (rows.getNumPartitions > tasks) rows.coalesce(tasks) else rows
    val parts = fewer.mapPartitions(part => Iterator.single(JavaBytes.write(ofRows(part), bits / java.lang.Byte.SIZE)))
    merged(parts.sparkContext.runJob(parts, (part: Iterator[Array[Byte]]) => part.next()).iterator.map(JavaBytes.read[Found]))
  }

  private def merged(parts: Iterator[Found]): Found = {
    val none = ofRows(Iterator.empty)
    val filter = BloomFilter.readFrom(none.filter)
    val others = parts.foldLeft(none) { (one, other) =>
      val _ = filter.mergeInPlace(BloomFilter.readFrom(other.filter))
      val values = for (a <- one.values; b <- other.values; both = (a ++ b).distinct if both.length <= ColumnKeys.MaxValues) yield both
      Found(one.filter, one.extremes.merge(other.extremes), values)
    }
    others.copy(filter = stored(filter))
  }

  /** The keys of rows, none of which is kept. */
  def ofRows(rows: Iterator[InternalRow]): Found = {
    val bloom = BloomFilter.create(itemsOf(bits), bits)
    val hash = HashedKeys.hasher(keys, output)
    val extremes = new ExtremesCollector(keys.size)
    val codes = new Array[Long](keys.size)
    val values = new CodeTable(0)
    val listed = coder.isExact
    // This loop runs once per row of the build side.
    while (rows.hasNext) {
      val row = rows.next()
      if (!coder.hasNull(row)) {
        coder.codes(row, codes)
        extremes.add(codes)
        if (listed && values.size <= ColumnKeys.MaxValues) { val _ = values.add(codes(0)) }
        val _ = bloom.putLong(hash(row))
      }
    }
    Found(stored(bloom), extremes.result, Option.when(listed && values.size <= ColumnKeys.MaxValues)(values.codes))
  }
}

private[exec] object EngineBuild {

  /** A larger Bloom filter is none: each task of the scan has a copy or two, outside of all budgets. Spark's own filter has this limit too.
    */
  val MaxBytes: Long = 8L << 20

  /** Bits that each key sets, and that a row with a partner is checked by. Spark's count for the lowest rate of false positives is 7 at ten
    * bits a key; with 4 the rate is 1.2 % in place of 0.8 %, and a key costs little more than half as much where the filter leaves the cache.
    */
  private val HashFunctions = 4

  /** Spark derives the count of hash functions from the keys that a filter is made for: ln 2 times the bits for each. */
  private def itemsOf(bits: Long): Long = math.max(1L, math.round(bits * math.log(2) / HashFunctions))

  /** The driver gets a Bloom filter of each. */
  private val MostTasks = 32

  /** @param filter
    *   the Bloom filter as Spark stores it
    * @param values
    *   all codes of the only column, in no order; none if they are many, or no values
    */
  final case class Found(filter: Array[Byte], extremes: ColumnExtremes, values: Option[Array[Long]]) {

    /** What is known of each column. Hashes say nothing of its values. */
    def columns(areValues: Seq[Boolean]): Seq[ColumnKeys] = values match {
      case Some(codes) =>
        val sorted = codes.sorted
        Seq(ColumnKeys.ofValues(sorted, Some(ExactSet.of(sorted).getOrElse(EmptySet))))
      case None => areValues.indices.map(i => ColumnKeys.ofRange(range(i).filter(_ => areValues(i)), None))
    }

    private def range(i: Int): Option[CodeRange] = Option.when(extremes.rows > 0)(CodeRange(extremes.least(i), extremes.greatest(i)))
  }

  private def stored(filter: BloomFilter): Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    filter.writeTo(bytes)
    bytes.toByteArray
  }
}
