package io.aqeplugin.sketch

/** How large the sketch of one task may be.
  *
  * @param exactCodes
  *   number of distinct codes up to which a task keeps them all
  * @param sampledCodes
  *   number of codes that it samples when there are more
  */
final case class SketchLimits(exactCodes: Int, sampledCodes: Int) {

  /** Number of distinct codes of one column of a key of several up to which all are kept: few beside those of the key itself. */
  def columnCodes: Int = math.min(exactCodes / 8, ColumnSketch.MostCodes)

  /** Bytes of the distinct texts of one column up to which all are kept: as many texts as codes, if they are as long as names are. */
  def columnTextBytes: Int = columnCodes * 32
}

object SketchLimits {

  /** The codes of all tasks together, if each keeps its most, unless so many tasks have the fewest. They pass the driver one by one. Each column
    * of a key of several adds at most an eighth, and each column of texts at most a half.
    */
  private val AllTasksBytes = 64L << 20

  /** Sampled codes of a task, and of the stage as a whole, whose estimate has a relative standard error of about 3 % then. */
  private val MostSampled = 2048
  private val FewestSampled = 256

  /** The limits of each of `tasks` tasks of a stage, which keeps up to `exactCodes` distinct codes in all. */
  def forTasks(tasks: Int, exactCodes: Int): SketchLimits = {
    val share = (AllTasksBytes / java.lang.Long.BYTES / math.max(1, tasks)).min(Int.MaxValue.toLong).toInt
    SketchLimits(math.min(exactCodes, math.max(share, FewestSampled)), math.max(FewestSampled, math.min(MostSampled, share)))
  }

  /** The K of the quantile sketch: the larger, the closer its ranks. */
  private[sketch] val QuantileK = 160

  /** One row in so many is sampled. */
  private[sketch] val Stride = 32

  private[sketch] val RandomSeed = 0x2545f4914f6cdd1dL
}
