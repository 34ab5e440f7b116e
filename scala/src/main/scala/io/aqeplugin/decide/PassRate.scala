package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, Named, Names}

/** The estimated share of probe rows whose key is among the build side's keys, and what it was estimated from. */
final case class PassRateEstimate(value: Double, source: PassRateSource)

/** What a pass rate was estimated from. */
sealed abstract class PassRateSource(val name: String, val meaning: String) extends Product with Serializable with Named

object PassRateSource extends Names[PassRateSource] {
  case object NoRows extends PassRateSource("no_build_rows", "the build side is empty")
  case object Distributions extends PassRateSource("key_distributions", "the distinct keys and the key ranges of both sides")
  case object KeyRange extends PassRateSource("key_range", "the distinct build keys and the probe side's key range")
  case object DistinctKeys extends PassRateSource("distinct_keys", "the distinct build keys, after and before the build side's predicates")
  case object Rows extends PassRateSource("rows", "the build side's rows, after and before its predicates")
  case object Composite extends PassRateSource("composite_key", "the build rows per probe row, for a key of several columns")
  case object ProbeKeys extends PassRateSource("probe_keys", "the build side's rows, each of one key, and the probe side's distinct keys")
  case object Sample extends PassRateSource("probe_sample", "the build keys among sampled rows of the probe side's scan")
  case object Files extends PassRateSource("files", "the share of the probe side's files whose bounds may hold a build key")
  case object Unknown extends PassRateSource("unknown", "nothing: every row may pass")

  val All: Seq[PassRateSource] = Seq(NoRows, Distributions, KeyRange, DistinctKeys, Rows, Composite, ProbeKeys, Sample, Files, Unknown)
}

/** Estimates the pass rate: the share of probe rows whose key is among the build side's keys.
  *
  * All estimates use the containment assumption of System R (Selinger et al., "Access Path Selection in a Relational Database Management
  * System", SIGMOD 1979): every key of the side with fewer distinct keys occurs on the other side, and every key has the same number of
  * rows. The more is known, the less is assumed. From the top, the first that applies:
  *
  *   - distinct keys and ranges of both sides known: probe rows inside the build side's key range (histogram overlap) × build keys per probe
  *     key where the ranges overlap;
  *   - distinct build keys known before and after the build side's predicates: their ratio; or the keys after inside the probe side's key
  *     range ÷ width of that range, when there are fewer values in that range than keys before;
  *   - distinct build keys and the probe side's range known, and more probe rows than the range has values, so that nearly every value
  *     occurs: build keys inside the range ÷ values of the range;
  *   - distinct build keys known after the predicates, rows before and after: Cardenas' formula ("Analysis and Performance of Inverted Data
  *     Base Structures", CACM 1975) gives the keys before: with `d` keys of `r/d` rows each, a row sample of share `f` hits `d (1 - (1 -
  *     f)^(r/d))`;
  *   - only rows before and after: their ratio, which is exact for a unique build key; or rows after inside the probe side's key range ÷
  *     width of that range, when it is smaller than the number of rows before.
  *
  * The filters of other joins on the probe side's scans are taken as independent: of the rows that they leave, the same
  * share passes.
  *
  * A key of several columns is nearly unique on the build side far more often than any one of its columns. Every build row then has about
  * one probe row, so the pass rate is at most build rows / probe rows × `filter.compositeFactor`, unless the keys before are known.
  *
  * A build side with fewer rows than the probe side has keys, as the source of a MERGE, has at most one key in each row: of so many keys, at
  * most build rows / probe keys pass.
  *
  * Real keys have not all the same number of rows. Where rows of the probe side's scan were sampled and the build keys are known one by one, an
  * estimate outside the sample's confidence interval moves to the nearer end ([[SampledKeys.bounded]]). No row of a file passes whose bounds
  * exclude every key.
  */
object PassRate {

  /** In [0, 1]; 1 when nothing is known. Includes the false positives of a Bloom filter; an exact set has none. In a union with the filters
    * of other uses of a shared scan, the sum is an upper bound: a row may pass several of them.
    */
  def estimate(facts: JoinFacts, filter: FilterSize, thresholds: Thresholds): PassRateEstimate = {
    val matching = matchingShare(facts, thresholds)
    val falsePositives = if (filter.exact) 0.0 else thresholds(AqeConf.FilterFalsePositiveRate)
    val own = matching.value + (1 - matching.value) * falsePositives
    matching.copy(value = share(own + math.max(0.0, facts.probe.otherUsesPassRate)))
  }

  private def matchingShare(facts: JoinFacts, thresholds: Thresholds): PassRateEstimate =
    if (facts.build.rows == 0) PassRateEstimate(0.0, PassRateSource.NoRows)
    else if (facts.build.rows < 0) PassRateEstimate(1.0, PassRateSource.Unknown)
    else {
      val single = fromDistributions(facts).map(PassRateEstimate(_, PassRateSource.Distributions))
        .orElse(fromDistinct(facts).map(PassRateEstimate(_, PassRateSource.DistinctKeys)))
        .orElse(fromKeyRange(facts).map(PassRateEstimate(_, PassRateSource.KeyRange)))
        .orElse(fromSample(facts).map(PassRateEstimate(_, PassRateSource.DistinctKeys)))
        .orElse(fromRows(facts).map(PassRateEstimate(_, PassRateSource.Rows)))
        .getOrElse(PassRateEstimate(1.0, PassRateSource.Unknown))
      val composite = fromComposite(facts, thresholds).map(PassRateEstimate(_, PassRateSource.Composite))
      val fewer = fromFewRows(facts).filterNot(_ => OfBothSides(single.source)).map(PassRateEstimate(_, PassRateSource.ProbeKeys))
      val assumed = composite.orElse(fewer).filter(_.value < single.value).getOrElse(single)
      val inFiles = 1 - facts.probe.keylessShare
      val ofFiles = if (inFiles < assumed.value) PassRateEstimate(inFiles, PassRateSource.Files) else assumed
      // Rows that were looked at say more than the bounds of a few files.
      val bounded = facts.probe.sample.fold(ofFiles.value)(_.bounded(ofFiles.value))
      if (bounded == ofFiles.value) ofFiles else PassRateEstimate(bounded, PassRateSource.Sample)
    }

  private def fromDistributions(facts: JoinFacts): Option[Double] = {
    val build = facts.build.keys
    for {
      probe <- facts.probe.keys
      range <- keyRange(build)
      inside <- shareInside(probe, range)
      buildDistinct <- build.distinct if buildDistinct >= 0
      probeDistinct <- probe.distinct if probeDistinct > 0
    } yield {
      val probeDistinctInside = math.max(1.0, math.min(probeDistinct * inside, valuesInside(probe, range)))
      share(inside * math.min(1.0, buildDistinct * insideProbe(facts) / probeDistinctInside))
    }
  }

  /** Values of `range` that `keys` may have: heavy keys fill a large share of the rows with few of them. */
  private def valuesInside(keys: KeyFacts, range: (Long, Long)): Double =
    keyRange(keys).fold(Double.MaxValue) { case (low, high) =>
      math.max(0.0, math.min(high, range._2).toDouble - math.max(low, range._1).toDouble + 1)
    }

  /** Share of the build keys that lie in the probe side's key range, as far as both are known; the others have no partner. */
  private def insideProbe(facts: JoinFacts): Double =
    facts.probe.keys.flatMap(keyRange).flatMap(shareInside(facts.build.keys, _)).getOrElse(1.0)

  private def keyRange(keys: KeyFacts): Option[(Long, Long)] =
    for {
      low <- keys.min.orElse(keys.histogram.headOption.map(_.low))
      high <- keys.max.orElse(keys.histogram.lastOption.map(_.high)) if low <= high
    } yield (low, high)

  /** Share of the rows of `keys` whose key lies in `range`. A bucket that is only partly inside counts in proportion to its width. */
  private def shareInside(keys: KeyFacts, range: (Long, Long)): Option[Double] = {
    val buckets = if (keys.histogram.nonEmpty) keys.histogram else keyRange(keys).map { case (low, high) => KeyBucket(low, high, 1) }.toSeq
    val rows = buckets.map(bucket => math.max(0L, bucket.rows).toDouble)
    if (rows.sum <= 0) None
    else Some(share(buckets.zip(rows).map { case (bucket, bucketRows) => bucketRows * overlap(bucket, range) }.sum / rows.sum))
  }

  private def overlap(bucket: KeyBucket, range: (Long, Long)): Double = {
    val shared = math.min(bucket.high, range._2).toDouble - math.max(bucket.low, range._1).toDouble + 1
    val width = math.max(1.0, bucket.high.toDouble - bucket.low.toDouble + 1)
    share(shared / width)
  }

  private def fromKeyRange(facts: JoinFacts): Option[Double] =
    for {
      keys <- facts.build.keys.distinct if keys >= 0
      domain <- probeDomain(facts) if domain <= facts.probe.unfilteredScanRows.toDouble
    } yield share(keys * insideProbe(facts) / domain)

  private def fromDistinct(facts: JoinFacts): Option[Double] = {
    val build = facts.build.keys
    for (after <- build.distinct.filter(_ > 0); before <- build.originDistinct.filter(_ > 0))
      yield ofKeysBefore(facts, after.toDouble, before.toDouble)
  }

  private def fromSample(facts: JoinFacts): Option[Double] =
    for (after <- facts.build.keys.distinct.filter(_ > 0); before <- distinctBefore(after.toDouble, facts.build))
      yield ofKeysBefore(facts, after.toDouble, before)

  /** The keys after the build side's predicates per key before them, or per value of the probe side's range where there are fewer. */
  private def ofKeysBefore(facts: JoinFacts, after: Double, before: Double): Double =
    share(probeDomain(facts).filter(_ < before).fold(after / before)(after * insideProbe(facts) / _))

  /** The number of keys before for which Cardenas' formula gives `after`; found by bisection, since the formula grows with it. */
  private def distinctBefore(after: Double, build: BuildFacts): Option[Double] =
    build.originRows.filter(_ >= build.rows).map { originRows =>
      val origin = originRows.toDouble
      val kept = build.rows / origin
      def expectedAfter(before: Double): Double = before * (1 - math.pow(1 - kept, origin / before))
      val start = (math.min(after, origin), origin)
      val (low, high) = Iterator.iterate(start) { case (lo, hi) =>
        val middle = (lo + hi) / 2
        if (expectedAfter(middle) < after) (middle, hi) else (lo, middle)
      }.drop(BisectionSteps).next()
      (low + high) / 2
    }

  // Enough steps for a relative error of 1e-12 on any interval.
  private val BisectionSteps = 60

  private def fromRows(facts: JoinFacts): Option[Double] =
    facts.build.originRows.filter(_ > 0).map { origin =>
      ofKeysBefore(facts, facts.build.rows.toDouble, origin.toDouble)
    }

  /** The number of distinct keys that the probe side can have: the width of its key range. A calendar of 200 years joined to five years of
    * sales has 1/40 of its days in use, so one month is 1/60 of the sales, not 1/2400.
    */
  private def probeDomain(facts: JoinFacts): Option[Double] =
    if (facts.build.keys.columns != 1) None
    else facts.probe.keys.flatMap(keyRange).map { case (low, high) => high.toDouble - low.toDouble + 1 }

  private def fromComposite(facts: JoinFacts, thresholds: Thresholds): Option[Double] =
    if (facts.build.keys.columns < 2 || facts.probe.unfilteredScanRows <= 0 || facts.build.keys.originDistinct.isDefined) None
    else {
      // A row whose key has a null is no key.
      val rows = math.max(0.0, facts.build.rows.toDouble - math.max(0L, facts.build.keys.nulls.getOrElse(0L)))
      Some(share(rows / facts.probe.unfilteredScanRows.toDouble * thresholds(AqeConf.FilterCompositeFactor)))
    }

  private val OfBothSides = Set[PassRateSource](PassRateSource.Distributions, PassRateSource.KeyRange)

  /** Each build row has one key at most. Where the keys before the predicates are known, they say more. */
  private def fromFewRows(facts: JoinFacts): Option[Double] =
    if (facts.build.keys.columns != 1 || facts.build.keys.asRange || facts.build.keys.originDistinct.isDefined) None
    else facts.probe.distinctKeys.filter(_ > 0).map(keys => share(facts.build.rows.toDouble / keys))

  private def share(value: Double): Double = math.max(0.0, math.min(1.0, value))
}
