package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf._

/** The price of the operators between the scans of a probe side and its join, by the kind of operator. See [[CostModel]] for the formula. */
private[decide] final class PathPrice(path: Seq[PathStep], slots: Double, prices: RowPrices, thresholds: Thresholds) {

  /** Number of shuffles on the path. */
  val shuffles: Int = path.count(_.isInstanceOf[PathStep.Shuffle])

  /** What a join pays that leaves a shared shuffle to its other uses: their parts of it, and of the scans below, which it reads by itself.
    *
    * @param passing
    *   the share of the rows that is left in the shared shuffle
    * @param shuffleNanos
    *   the price of the whole shuffle without its launch
    */
  def leavingTerms(passing: Double, shuffleNanos: Double): Seq[CostTerm] = path.collectFirst { case step: PathStep.Shared =>
    val ofOthers = 1 - step.share.max(0.0).min(1.0)
    val scanned = math.max(0L, step.scanBytes) * thresholds(CostScanNanosPerByte)
    val piped = math.max(0L, step.rows) * passing * thresholds(CostRowPipelineNanosPerRow)
    Seq(
      CostTerm("shuffle of others", ofOthers * (shuffleNanos + thresholds(CostJobLaunchNanos))),
      CostTerm("scan by itself", ofOthers * (scanned + piped) / slots)
    )
  }.getOrElse(Nil)

  /** What the joins below that filter other scans leave to do there because no filter reduces their build sides.
    *
    * @param passRate
    *   the share of the rows that a filter would leave
    */
  def unreducedTerms(passRate: Double): Seq[CostTerm] = {
    val sources = path.collect { case step: PathStep.FilterSource => step }
    if (sources.isEmpty) Nil
    else
      Seq(
        CostTerm(
          PathPrice.OtherScans,
          sources.map { step =>
            val more = passing(step, step.rows.toDouble) - passing(step, step.rows * passRate)
            math.max(0L, step.probeRows) * more * (thresholds(CostRowPipelineNanosPerRow) + prices.shuffled(step.rowBytes)) / slots
          }.sum
        )
      )
  }

  /** The share of the other scans' rows that passes a filter of so many rows; all of them where it would not be worth it. */
  private def passing(step: PathStep.FilterSource, rows: Double): Double = {
    val rate = math.min(1.0, math.max(0.0, rows) / math.max(1L, step.keys))
    if (rate > thresholds(FilterMaxPassRate)) 1.0 else rate
  }

  /** @param passing
    *   the share of the rows that is left
    */
  def terms(passing: Double): Seq[CostTerm] = {
    def sum(name: String)(nanos: PartialFunction[PathStep, Double]): CostTerm = CostTerm(name, path.collect(nanos).sum / slots)
    def left(step: PathStep): Double = math.max(0L, step.rows).toDouble * passing
    if (path.isEmpty) Nil
    else
      Seq(
        sum("shuffle below") { case step: PathStep.Shuffle => left(step) * prices.shuffled(step.rowBytes) },
        sum("sort below") { case step: PathStep.Sort => prices.sorted(left(step), math.max(1, step.partitions).toDouble, step.byRow) },
        sum("merge below") { case step: PathStep.Merge => left(step) * thresholds(CostMergeNanosPerRow) },
        sum("lookup below") { case step: PathStep.Lookup =>
          left(step) * (prices.probe(step.byRow) + hashMiss(math.max(0L, step.tableRows).toDouble, step.tableRowBytes))
        },
        CostTerm(
          "broadcast below",
          path.collect { case step: PathStep.Broadcast =>
            val built = thresholds(CostHashBuildNanosPerRow) + prices.shared(math.max(0L, step.rowBytes).toDouble)
            left(step) * built + math.max(0L, step.probeRows) * hashMiss(left(step), step.rowBytes) / slots
          }.sum
        ),
        sum("group below") { case step: PathStep.Group => left(step) * thresholds(CostHashBuildNanosPerRow) }
      )
  }

  private def hashMiss(tableRows: Double, rowBytes: Long): Double =
    prices.hashMiss(tableRows * (math.max(0L, rowBytes).toDouble + thresholds(BroadcastHashBytesPerRow)))
}

private[decide] object PathPrice {
  val OtherScans = "other scans"
}
