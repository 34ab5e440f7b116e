package io.aqeplugin.decide

/** How many rows of a sample of a probe side's scan have a key of the build side.
  *
  * @param rows
  *   rows of the sample, those with a null in their key included
  * @param matches
  *   those of them whose key is one of the build side's
  * @param independentRows
  *   so many rows, drawn one by one, would say as much: rows that lie side by side in a file may have similar keys
  */
final case class SampledKeys(rows: Long, matches: Long, independentRows: Double) {

  /** What the sample leaves of an expected pass rate: the nearest rate in the confidence interval of the share of its matches. The interval is
    * that of Wilson ("Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927) for two standard deviations.
    */
  def bounded(expected: Double): Double = if (rows <= 0) expected
  else {
    val (low, high) = interval
    math.max(low, math.min(high, expected))
  }

  /** The same sample of a build side with so many times the keys. */
  def scaled(by: Double): SampledKeys = copy(matches = math.min(rows.toDouble, matches * by).toLong)

  private def share: Double = math.max(0.0, math.min(1.0, matches.toDouble / rows))

  private def interval: (Double, Double) = {
    import SampledKeys.Deviations
    val n = math.max(1.0, math.min(independentRows, rows.toDouble))
    val perRow = Deviations * Deviations / n
    val center = share + perRow / 2
    val halfWidth = math.sqrt(perRow * share * (1 - share) + perRow * perRow / 4)
    (math.max(0.0, (center - halfWidth) / (1 + perRow)), math.min(1.0, (center + halfWidth) / (1 + perRow)))
  }
}

object SampledKeys {

  /** Of an interval that has the true share in 95 % of the cases. */
  private val Deviations = 2.0

  /** The sample of these blocks, each of rows that lie side by side.
    *
    * The rows count as independent as far as the blocks resemble each other: by how much the shares of the blocks differ more than those of
    * random rows would (the design effect of Kish, "Survey Sampling", 1965, estimated as Pearson's chi-square by its degrees of freedom). Two
    * shares are compared, that of the matches and that of the keys up to the median, because a sample without matches says nothing of how
    * they lie.
    *
    * @param blocks
    *   for each block, the codes of the keys without a null
    * @param rows
    *   for each block, all of its rows
    * @return
    *   none if there are fewer than two blocks with rows
    */
  def of(blocks: Seq[Array[Long]], rows: Seq[Int])(isBuildKey: Long => Boolean): Option[SampledKeys] = {
    val found = blocks.zip(rows).filter(_._2 > 0)
    if (found.size < 2) None
    else {
      val sizes = found.map(_._2)
      val matches = found.map(_._1.count(isBuildKey))
      val sorted = found.flatMap(_._1).sorted
      val below = sorted.lift(sorted.size / 2).map { median =>
        val upTo = found.map(_._1.count(_ <= median))
        // Of a key that has half of the rows, or more, all keys may be at most the median.
        if (upTo.sum < sorted.size) upTo else found.map(_._1.count(_ < median))
      }
      val effect = (matches +: below.toSeq).map(overdispersion(_, sizes)).foldLeft(1.0)(math.max)
      Some(SampledKeys(sizes.sum.toLong, matches.sum.toLong, math.max(1.0, sizes.sum / effect)))
    }
  }

  /** How many times the shares of the blocks vary as much as those of independent rows; 1 where all blocks have all or none. */
  private def overdispersion(counts: Seq[Int], sizes: Seq[Int]): Double = {
    val share = counts.sum.toDouble / sizes.sum
    val variance = share * (1 - share)
    if (variance <= 0) 1.0
    else {
      val squares = counts.zip(sizes).map { case (count, size) =>
        val off = count - size * share
        off * off / size
      }
      squares.sum / variance / (counts.size - 1)
    }
  }
}
