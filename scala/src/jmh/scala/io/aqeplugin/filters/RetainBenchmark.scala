package io.aqeplugin.filters

import java.util.SplittableRandom
import java.util.concurrent.TimeUnit

import org.apache.spark.util.sketch.BloomFilter
import org.openjdk.jmh.annotations._

/** Time of checking one batch of 4,096 random keys, half of which are in the set, with our filters and with Spark's own Bloom filter.
  *
  * Every batch is timed separately, so that the median (p0.50) is right even on a busy machine; divide it by 4,096 for nanoseconds per key.
  */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.SampleTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 3, time = 2)
class RetainBenchmark {
  import RetainBenchmark._

  @Param(Array("10000", "1000000", "10000000"))
  var keys: Int = 0

  /** Share of checked keys that are in the set. */
  @Param(Array("0.5"))
  var hitRate: Double = 0.0

  private var bloom: SplitBlockBloom = _
  private var bitmap: RangeBitmap = _
  private var exact: ExactSet = _
  private var spark: BloomFilter = _
  private var batches: Array[Array[Long]] = _
  private var next: Int = 0
  private val positions = new Array[Int](BatchRows)

  @Setup
  def build(): Unit = {
    val random = new SplittableRandom(42)
    // The values range over four times as many numbers as there are keys, so that the bitmap is realistic too.
    val members = Array.fill(keys)(random.nextLong(4L * keys))
    bloom = SplitBlockBloom.of(members, 0.01).get
    bitmap = RangeBitmap.of(members).get
    exact = ExactSet.of(members).get
    spark = BloomFilter.create(keys.toLong, 0.01)
    members.foreach(spark.putLong)
    batches = Array.fill(Batches)(
      Array.fill(BatchRows)(if (random.nextDouble() < hitRate) members(random.nextInt(keys)) else random.nextLong(4L * keys))
    )
  }

  private def nextBatch(): Array[Long] = {
    next = (next + 1) % Batches
    var i = 0
    while (i < BatchRows) {
      positions(i) = i
      i += 1
    }
    batches(next)
  }

  @Benchmark
  def splitBlockBloom(): Int = bloom.retain(nextBatch(), positions, BatchRows)

  @Benchmark
  def rangeBitmap(): Int = bitmap.retain(nextBatch(), positions, BatchRows)

  @Benchmark
  def exactSet(): Int = exact.retain(nextBatch(), positions, BatchRows)

  @Benchmark
  def sparkBloomFilter(): Int = {
    val codes = nextBatch()
    var kept = 0
    var i = 0
    while (i < BatchRows) {
      if (spark.mightContainLong(codes(i))) {
        positions(kept) = i
        kept += 1
      }
      i += 1
    }
    kept
  }
}

object RetainBenchmark {
  final val BatchRows = 4096

  /** Enough batches (8 million keys) that the checked keys do not themselves decide which blocks are in the cache. */
  final val Batches = 2048
}
