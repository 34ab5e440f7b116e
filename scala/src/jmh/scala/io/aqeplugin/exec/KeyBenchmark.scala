package io.aqeplugin.exec

import java.util.SplittableRandom
import java.util.concurrent.TimeUnit

import org.apache.parquet.column.{Dictionary, Encoding}
import org.apache.parquet.io.api.Binary
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Coalesce, Expression, Literal, Upper, XXH64}
import org.apache.spark.sql.execution.datasources.parquet.ParquetDictionary
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.util.sketch.BloomFilter
import org.openjdk.jmh.annotations._

import io.aqeplugin.filters.SplitBlockBloom

/** Time of checking one batch of 4,096 rows from the column vectors on, as a scan does it, by type of key: with a filter of the plugin,
  * and with Spark's hash and its Bloom filter row by row. Divide the median by 4,096 for nanoseconds per row.
  */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.SampleTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 3, time = 1)
class KeyBenchmark {
  import KeyBenchmark._

  @Param(Array("long", "int", "decimal", "string", "dictionary", "binary", "double", "two", "coalesce", "upper"))
  var kind: String = _

  @Param(Array("10000"))
  var keys: Int = 0

  /** Share of rows whose key is in the filter. */
  @Param(Array("0", "0.5", "1"))
  var hitRate: Double = 0.0

  private var batches: Array[ColumnarBatch] = _
  private var probe: FilterProbe = _
  private var spark: BloomFilter = _
  private var sparkHash: (ColumnarBatch, Int) => Long = _
  private var next = 0
  private val positions = new Array[Int](BatchRows)

  @Setup
  def build(): Unit = {
    val random = new SplittableRandom(42)
    // Even numbers are keys of the filter.
    def number: Int = if (random.nextDouble() < hitRate) random.nextInt(keys) * 2 else random.nextInt(keys) * 2 + 1
    val types = typesOf(kind)
    val columns = types.zipWithIndex.map { case (dataType, i) => AttributeReference(s"k$i", dataType)() }
    val coder = KeyCoder(columns.map(computed(kind, _)), columns)
    batches = Array.fill(Batches)(batch(kind, keys, Array.fill(BatchRows)(number)))
    val codes = new Array[Long](BatchRows)
    val scratch = new Array[Long](BatchRows)
    spark = BloomFilter.create(keys.toLong, 0.01)
    sparkHash = hashOf(kind)
    val members = (0 until keys).grouped(BatchRows).flatMap { some =>
      val rows = batch(kind, keys, some.map(_ * 2).toArray)
      some.indices.foreach(i => positions(i) = i)
      val _ = coder.codesOf(rows, positions, some.size, codes, scratch)
      some.indices.foreach(i => spark.putLong(sparkHash(rows, i)))
      codes.take(some.size)
    }.toArray
    def metric = new SQLMetric("sum", 0L)
    val filter = SplitBlockBloom.of(members, 0.01).get
    probe = new FilterProbe(coder, filter, SelfDisable(Int.MaxValue, 1.0, 1), FilterCounters(metric, metric, metric, metric))
  }

  private def nextBatch(): ColumnarBatch = {
    next = (next + 1) % Batches
    var i = 0
    while (i < BatchRows) {
      positions(i) = i
      i += 1
    }
    batches(next)
  }

  @Benchmark
  def plugin(): Int = probe.retain(nextBatch(), positions, BatchRows)

  @Benchmark
  def sparkBloomFilter(): Int = {
    val batch = nextBatch()
    val hash = sparkHash
    var kept = 0
    var i = 0
    while (i < BatchRows) {
      if (spark.mightContainLong(hash(batch, i))) {
        positions(kept) = i
        kept += 1
      }
      i += 1
    }
    kept
  }
}

object KeyBenchmark {
  final val BatchRows = 4096
  final val Batches = 64
  private val Seed = 42L

  private def typesOf(kind: String): Seq[DataType] = kind match {
    case "long" | "coalesce"     => Seq(LongType)
    case "int"                   => Seq(IntegerType)
    case "decimal"               => Seq(DecimalType(12, 2))
    case "double"                => Seq(DoubleType)
    case "binary"                => Seq(BinaryType)
    case "string" | "dictionary" => Seq(StringType)
    case "upper"                 => Seq(StringType)
    case "two"                   => Seq(IntegerType, LongType)
  }

  /** What the join computes from a column. */
  private def computed(kind: String, column: Attribute): Expression = kind match {
    case "coalesce" => Coalesce(Seq(column, Literal(0L)))
    case "upper"    => Upper(column)
    case _          => column
  }

  /** What Spark puts into its Bloom filter for a row, of computed keys without what the computation costs. */
  private def hashOf(kind: String): (ColumnarBatch, Int) => Long = kind match {
    case "long" | "coalesce" => (batch, row) => XXH64.hashLong(batch.column(0).getLong(row), Seed)
    case "int"     => (batch, row) => XXH64.hashInt(batch.column(0).getInt(row), Seed)
    case "decimal" => (batch, row) => XXH64.hashLong(batch.column(0).getDecimal(row, 12, 2).toUnscaledLong, Seed)
    case "double"  => (batch, row) => XXH64.hashLong(java.lang.Double.doubleToLongBits(batch.column(0).getDouble(row)), Seed)
    case "two"     => (batch, row) => XXH64.hashLong(batch.column(1).getLong(row), XXH64.hashInt(batch.column(0).getInt(row), Seed))
    case "binary"  =>
      (batch, row) => {
        val bytes = batch.column(0).getBinary(row)
        XXH64.hashUnsafeBytes(bytes, org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length, Seed)
      }
    case _ =>
      (batch, row) => {
        val text = batch.column(0).getUTF8String(row)
        XXH64.hashUnsafeBytes(text.getBaseObject, text.getBaseOffset, text.numBytes, Seed)
      }
  }

  private def text(number: Int): String = s"customer-$number"

  /** The entries of a file's dictionary, of which every second one is in the filter. */
  private final class Texts(entries: Array[Binary]) extends Dictionary(Encoding.PLAIN) {
    override def getMaxId: Int = entries.length - 1
    override def decodeToBinary(id: Int): Binary = entries(id)
  }
  private var texts: Texts = _ // made once for all batches, as in a row group

  private def batch(kind: String, keys: Int, numbers: Array[Int]): ColumnarBatch = {
    val columns = typesOf(kind).map(new OnHeapColumnVector(numbers.length, _))
    val first = columns.head
    if (kind == "dictionary") {
      if (texts == null || texts.getMaxId != 2 * keys - 1) texts = new Texts(Array.tabulate(2 * keys)(i => Binary.fromString(text(i))))
      first.setDictionary(new ParquetDictionary(texts, false))
      val ids = first.reserveDictionaryIds(numbers.length)
      numbers.indices.foreach(i => ids.putInt(i, numbers(i)))
    } else
      numbers.indices.foreach { i =>
        kind match {
          case "long" | "coalesce" | "decimal" => first.putLong(i, numbers(i).toLong)
          case "int"                 => first.putInt(i, numbers(i))
          case "double"              => first.putDouble(i, numbers(i).toDouble)
          case "string" | "upper" | "binary" => first.putByteArray(i, text(numbers(i)).getBytes)
          case "two"                 => first.putInt(i, numbers(i)); columns(1).putLong(i, numbers(i) * 7L)
        }
      }
    new ColumnarBatch(columns.toArray[ColumnVector], numbers.length)
  }
}
