package io.aqeplugin.decide

/** How many rows of a sample of a probe side's scan have a key of the build side. */
@Told(doc = "sampled rows of the probe side's scan")
final case class SampledKeys(
    @Told(doc = "rows of the sample", unit = "rows") rows: Long,
    @Told(doc = "those of them whose key is one of the build side's", unit = "rows") matches: Long,
    @Told(doc = "so many rows, drawn one by one, would say as much", unit = "rows") independentRows: Double
) {

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

  /** What these blocks say together.
    *
    * Their rows count as independent as far as the blocks resemble each other: by how much the shares of the blocks differ more than those of
    * random rows would (the design effect of Kish, "Survey Sampling", 1965, estimated as Pearson's chi-square by its degrees of freedom). Compared
    * are the shares of the matches, of the nulls, and of the keys up to the median: few matches, or none, do not show how they lie.
    *
    * @return
    *   none if there are fewer than two blocks with rows
    */
  def of(blocks: Seq[SampledBlock]): Option[SampledKeys] = {
    val found = blocks.filter(_.rows > 0)
    if (found.size < 2) None
    else {
      val sizes = found.map(_.rows)
      val rows = sizes.sum
      val compared = Seq(found.map(_.matches), found.map(_.nulls)) ++ found.map(_.places).transpose.flatMap(upToMedian)
      val effect = compared.map(overdispersion(_, sizes)).foldLeft(1.0)(math.max)
      Some(SampledKeys(rows.toLong, found.map(_.matches).sum.toLong, math.max(1.0, rows / effect)))
    }
  }

  /** For each block, its values up to the median of all. */
  private def upToMedian(blocks: Seq[Array[Long]]): Option[Seq[Int]] = {
    val sorted = blocks.flatten.sorted
    sorted.lift(sorted.size / 2).map { median =>
      val upTo = blocks.map(_.count(_ <= median))
      // Of a value that half of the rows have, or more, all may be at most the median.
      if (upTo.sum < sorted.size) upTo else blocks.map(_.count(_ < median))
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

/** Sampled rows that lie side by side.
  *
  * @param rows
  *   all of them
  * @param matches
  *   those whose key is one of the build side's
  * @param places
  *   for each column of the key, numbers in the order of its values, of the rows without a null in their key
  */
final case class SampledBlock(rows: Int, matches: Int, places: Seq[Array[Long]]) {

  /** Rows with a null in their key. */
  def nulls: Int = rows - places.headOption.fold(0)(_.length)
}
