package io.aqeplugin.sketch

/** How large the sketch of one task may be.
  *
  * @param exactCodes
  *   number of distinct codes up to which a task keeps them all
  * @param sampledCodes
  *   number of codes that it samples when there are more
  */
final case class SketchLimits(exactCodes: Int, sampledCodes: Int)

object SketchLimits {

  /** The codes of all tasks together, if each keeps its most. They pass the driver one task at a time. */
  private val AllTasksBytes = 64L << 20

  /** Sampled codes of a task; the estimate of a whole stage has a relative error of 3 % or less. */
  private val MostSampled = 2048
  private val FewestSampled = 256

  /** The limits of each of `tasks` tasks of a stage, which keeps up to `exactCodes` distinct codes in all. */
  def forTasks(tasks: Int, exactCodes: Int): SketchLimits = {
    val share = (AllTasksBytes / java.lang.Long.BYTES / math.max(1, tasks)).min(Int.MaxValue.toLong).toInt
    SketchLimits(math.min(exactCodes, math.max(share, FewestSampled)), math.max(FewestSampled, math.min(MostSampled, share)))
  }

  /** Quantiles are within 1.6 % of the rank that was asked for. */
  private[sketch] val QuantileK = 160

  /** Number of keys whose frequency is counted; a power of two. A key with a larger share of the rows than 1/24 is never lost. */
  private[sketch] val FrequentCapacity = 32

  /** One row in so many is sampled. */
  private[sketch] val Stride = 32

  private[sketch] val RandomSeed = 0x2545f4914f6cdd1dL
}
