package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf._

/** The price of the operators between the scans of a probe side and its join, by the kind of operator. See [[CostModel]] for the formula. */
private[decide] final class PathPrice(path: Seq[PathStep], slots: Double, thresholds: Thresholds) {

  /** Number of shuffles on the path. */
  val shuffles: Int = path.count(_.isInstanceOf[PathStep.Shuffle])

  /** @param passing
    *   the share of the rows that is left
    */
  def terms(passing: Double): Seq[CostTerm] = {
    def sum(name: String)(nanos: PartialFunction[PathStep, Double]): CostTerm = CostTerm(name, path.collect(nanos).sum / slots)
    def left(step: PathStep): Double = math.max(0L, step.rows).toDouble * passing
    if (path.isEmpty) Nil
    else
      Seq(
        sum("shuffle below") { case step: PathStep.Shuffle =>
          left(step) * (math.max(0L, step.rowBytes) * thresholds(CostShuffleNanosPerByte) + thresholds(CostShuffleNanosPerRow))
        },
        sum("sort below") { case step: PathStep.Sort =>
          CostModel.comparisons(left(step), math.max(1, step.partitions).toDouble) * thresholds(CostSortNanosPerComparison)
        },
        sum("merge below") { case step: PathStep.Merge => left(step) * thresholds(CostMergeNanosPerRow) },
        sum("lookup below") { case step: PathStep.Lookup =>
          val tableBytes =
            math.max(0L, step.tableRows).toDouble * (math.max(0L, step.tableRowBytes).toDouble + thresholds(BroadcastHashBytesPerRow))
          left(step) * (thresholds(CostHashProbeNanosPerRow) + CostModel.missedInShared(tableBytes) * thresholds(CostHashMissNanosPerRow))
        },
        sum("group below") { case step: PathStep.Group => left(step) * thresholds(CostHashBuildNanosPerRow) }
      )
  }
}
