package io.aqeplugin.decide

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf

class PassRateSuite extends AnyFunSuite {
  private val limits = Thresholds.Default.updated(AqeConf.FilterExactMaxKeys, 1000000L)
  private val oneKey = KeyFacts(columns = 1, supported = true)
  private val base = FactsGen.Typical.copy(build = FactsGen.Typical.build.copy(rows = 1000, originRows = None, keys = oneKey))

  private def estimate(build: BuildFacts, probe: ProbeFacts = base.probe): Double =
    estimateOf(base.copy(build = build, probe = probe), limits)

  private def estimateOf(facts: JoinFacts, held: Thresholds): Double =
    PassRate.estimate(facts, FilterSize.of(facts.build, held), held).value

  private def about(expected: Double)(actual: Double): Unit = { assert(math.abs(actual - expected) < 1e-3, s"$actual, not $expected"); () }

  test("without facts, every row may pass") {
    assert(estimate(base.build) == 1.0)
  }

  test("without build rows, no row passes") {
    assert(estimate(base.build.copy(rows = 0)) == 0.0)
  }

  test("with rows before and after known, the pass rate is their ratio") {
    about(0.25)(estimate(base.build.copy(originRows = Some(4000))))
  }

  test("more build rows than the origin table has gives no estimate") {
    assert(estimate(base.build.copy(originRows = Some(500))) == 1.0)
  }

  test("a tenth of the rows of a unique key has a tenth of the keys") {
    about(0.1)(estimate(base.build.copy(originRows = Some(10000), keys = oneKey.copy(distinct = Some(1000)))))
  }

  test("a tenth of the rows of a repeated key has nearly every key") {
    assert(estimate(base.build.copy(rows = 100000, originRows = Some(1000000), keys = oneKey.copy(distinct = Some(1000)))) > 0.99)
  }

  test("with distinct keys before and after known, the pass rate is their ratio") {
    about(0.2)(estimate(base.build.copy(originRows = Some(2000), keys = oneKey.copy(distinct = Some(100), originDistinct = Some(500)))))
  }

  test("a composite key is assumed to have about one probe row per build row") {
    val composite = base.build.copy(keys = oneKey.copy(columns = 2))
    about(1000 / 100000.0 * limits(AqeConf.FilterCompositeFactor))(estimate(composite, base.probe.copy(scanRows = 100000)))
  }

  test("a composite key with several build rows has several probe rows too") {
    val repeated = base.build.copy(rows = 10000, originRows = Some(10040), keys = oneKey.copy(columns = 3, distinct = Some(500)))
    about(0.01 * limits(AqeConf.FilterCompositeFactor))(estimate(repeated, base.probe.copy(scanRows = 1000000)))
  }

  test("an estimate outside the interval of a sample moves to its nearer end, and another one stays") {
    val tenth = base.build.copy(originRows = Some(10000))
    def sampled(matches: Long): PassRateEstimate = {
      val facts = base.copy(build = tenth, probe = base.probe.copy(sample = Some(SampledKeys(6000, matches, 3000))))
      PassRate.estimate(facts, FilterSize.of(facts.build, limits), limits)
    }
    assert(sampled(610) == PassRateEstimate(0.1, PassRateSource.Rows))
    assert(sampled(3000).source == PassRateSource.Sample)
    assert(sampled(3000).value > 0.48 && sampled(3000).value < 0.5, "two deviations of 3,000 rows below a half")
    assert(sampled(0).source == PassRateSource.Sample && sampled(0).value < 0.002)
  }

  test("with both distributions known, the pass rate is share in range times key ratio") {
    val probe = base.probe.copy(keys = Some(oneKey.copy(distinct = Some(1000), min = Some(0), max = Some(999))))
    val build = base.build.copy(keys = oneKey.copy(distinct = Some(50), min = Some(0), max = Some(99)))
    about(0.1 * 0.5)(estimate(build, probe))
  }

  test("of more build keys than the probe side's range has values, those outside have no partner, whatever else is known") {
    val fiveYears =
      base.probe.copy(scanRows = 1000000, keys = Some(oneKey.copy(min = Some(36000), max = Some(37824), distinct = Some(1825))))
    // Nine tenths of the days are in the first half of the calendar, before the sales begin.
    val days = Seq(KeyBucket(0, 35999, 5400), KeyBucket(36000, 73000, 600))
    val november = oneKey.copy(distinct = Some(6000), min = Some(0), max = Some(73000), histogram = days)
    val rate = 600.0 / 37001
    about(rate)(estimate(base.build.copy(rows = 6000, keys = november), fiveYears))
    val withoutDistinct = fiveYears.copy(keys = fiveYears.keys.map(_.copy(distinct = None)))
    about(rate)(estimate(base.build.copy(rows = 6000, keys = november.copy(originDistinct = Some(73000))), withoutDistinct))
    val fewRows = withoutDistinct.copy(scanRows = 1000)
    about(rate)(estimate(base.build.copy(rows = 6000, originRows = Some(73001), keys = november), fewRows))
    about(rate)(estimate(base.build.copy(rows = 6000, originRows = Some(73001), keys = november.copy(distinct = None)), fewRows))
    val wide = fewRows.copy(keys = Some(oneKey.copy(min = Some(36000), max = Some(200000))))
    about(6000.0 / 73001)(estimate(base.build.copy(rows = 6000, originRows = Some(73001), keys = november.copy(distinct = None)), wide))
  }

  test("of build keys in an unknown range, all count as inside that of the probe side") {
    val hundred = base.probe.copy(scanRows = 100000, keys = Some(oneKey.copy(min = Some(1), max = Some(100))))
    about(0.05)(estimate(base.build.copy(rows = 40, originRows = None, keys = oneKey.copy(distinct = Some(5))), hundred))
    about(1)(estimate(base.build.copy(rows = 900, originRows = None, keys = oneKey.copy(distinct = Some(300))), hundred))
  }

  test("what the filters of other joins leave of a scan passes at the same rate") {
    val composite = base.build.copy(rows = 50, keys = oneKey.copy(columns = 2))
    val ranged = base.build.copy(rows = 50, keys = oneKey.copy(distinct = Some(50), min = Some(0), max = Some(99)))
    val whole = base.probe.copy(scanRows = 100000, keys = Some(oneKey.copy(min = Some(0), max = Some(9999))))
    for (build <- Seq(composite, ranged)) assert(estimate(build, whole.filtered(0.01).filtered(0.1)) == estimate(build, whole))
    assert(whole.filtered(0.01).scanRows == 1000 && whole.filtered(0.01).filtered(0.1).unfilteredScanRows == 100000)
  }

  test("a build row whose key of several columns has a null is no key") {
    val pairs = oneKey.copy(columns = 2)
    val probe = base.probe.copy(scanRows = 100000)
    about(0.008 * limits(AqeConf.FilterCompositeFactor))(estimate(base.build.copy(keys = pairs.copy(nulls = Some(200))), probe))
  }

  test("few heavy keys in a bucket of their own count as the share of their rows") {
    val heavy = Seq(KeyBucket(0, 9, 20000), KeyBucket(10, 99999, 80000))
    val probe = base.probe.copy(keys = Some(oneKey.copy(distinct = Some(50000), min = Some(0), max = Some(99999), histogram = heavy)))
    about(0.2)(estimate(base.build.copy(rows = 10, keys = oneKey.copy(distinct = Some(10), min = Some(0), max = Some(9))), probe))
  }

  test("the keys of a union are those of any of its scans, and unknown if those of one are") {
    val (one, other) = (oneKey.copy(distinct = Some(10), min = Some(0), max = Some(99)), oneKey.copy(min = Some(50), max = Some(300)))
    assert(KeyFacts.union(Seq(Some(one), Some(other))).contains(oneKey.copy(min = Some(0), max = Some(300))))
    assert(KeyFacts.union(Seq(Some(one), None)).isEmpty && KeyFacts.union(Nil).isEmpty)
  }

  test("a date key is looked up as a row and checked as a number") {
    val date = oneKey.copy(byRow = true)
    assert(date.isLookedUpByRow && date.hashedColumns == 0)
  }

  test("a string key is looked up and checked as a hashed row, an integer as a number, and to compute a key costs more than to hash it") {
    def term(keys: KeyFacts, name: String): Double = {
      val facts = base.copy(build = base.build.copy(keys = keys))
      new CostModel(facts, 0.1, FilterSize.of(facts.build, limits), limits).terms(JoinOption(Method.Broadcast, withFilter = true))
        .filter(_.name == name).map(_.nanos).sum
    }
    val string = oneKey.copy(byRow = true, hashed = true)
    about(4.0)(term(string, "hash probe") / term(oneKey, "hash probe"))
    assert(term(string, "filter check") > term(oneKey, "filter check"))
    assert(term(oneKey.copy(computed = 1), "filter check") > term(string, "filter check"))
  }

  test("with the probe side's range dense, the pass rate is build keys per value of the range") {
    val probe = base.probe.copy(scanRows = 50000, keys = Some(oneKey.copy(min = Some(0), max = Some(999))))
    val keys = oneKey.copy(distinct = Some(50), min = Some(0), max = Some(99))
    about(0.05)(estimate(base.build.copy(keys = keys), probe))
    // Half of these keys lie outside the range.
    about(0.025)(estimate(base.build.copy(keys = keys.copy(min = Some(-100), max = Some(99))), probe))
    // Fewer rows than values: the range says only how many keys there can be.
    val sparse = probe.copy(scanRows = 500)
    about(0.1)(estimate(base.build.copy(originRows = Some(10000), keys = oneKey.copy(distinct = Some(1000))), sparse.copy(keys = None)))
    about(1)(estimate(base.build.copy(originRows = Some(10000), keys = oneKey.copy(distinct = Some(1000))), sparse))
  }

  test("known keys before and after outweigh a key range and the number of key columns") {
    val keys = oneKey.copy(distinct = Some(100), originDistinct = Some(500), min = Some(0), max = Some(99))
    val ranged = base.probe.copy(scanRows = 50000, keys = Some(oneKey.copy(min = Some(0), max = Some(999))))
    about(0.2)(estimate(base.build.copy(keys = keys), ranged))
    about(0.2)(estimate(base.build.copy(keys = keys.copy(columns = 2)), ranged))
  }

  test("few build rows of a table without a predicate are at most as many of the keys that the probe side is known to have") {
    val source = base.build.copy(rows = 100, originRows = Some(100), keys = oneKey)
    val counted = base.probe.copy(keys = Some(oneKey.copy(distinct = Some(5000), min = Some(0), max = Some(99999))))
    about(0.02)(estimate(source, counted))
    about(0.02)(estimate(source, counted.withoutKeyRange))
    about(1)(estimate(source.copy(rows = 20000, originRows = Some(20000)), counted))
    about(1)(estimate(source, base.probe.copy(keys = None)))
    // Of numbers with gaps, such as 20260131, the range has many more values than there are keys.
    about(1)(estimate(source, base.probe.copy(scanRows = 50000, keys = Some(oneKey.copy(min = Some(0), max = Some(9999))))))
    // Every value of a range counts as a key.
    about(1)(estimate(source.copy(keys = oneKey.copy(asRange = true)), counted))
  }

  test("a table that a command changes is taken to have a key in each row, as far as the key's range has room for them") {
    val source = base.build.copy(rows = 100, originRows = Some(100), keys = oneKey)
    val changed = base.probe.copy(scanRows = 50000, changed = true, keys = None)
    about(0.002)(estimate(source, changed))
    about(0.002)(estimate(source, changed.withoutKeyRange))
    about(0.01)(estimate(source, changed.copy(keys = Some(oneKey.copy(min = Some(0), max = Some(9999))))))
    about(1)(estimate(source, changed.copy(scanRows = -1)))
  }

  test("the rows that pass for other uses of a shared scan are added, up to all rows") {
    val build = base.build.copy(originRows = Some(10000), keys = oneKey.copy(distinct = Some(1000), originDistinct = Some(10000)))
    about(0.1)(estimate(build))
    about(0.35)(estimate(build, base.probe.copy(otherUsesPassRate = 0.25)))
    about(1)(estimate(build, base.probe.copy(otherUsesPassRate = 0.95)))
  }

  test("each estimate says what it was made from") {
    def source(build: BuildFacts, probe: ProbeFacts = base.probe): PassRateSource = {
      val facts = base.copy(build = build, probe = probe)
      PassRate.estimate(facts, FilterSize.of(build, limits), limits).source
    }
    val counted = base.build.copy(originRows = Some(10000), keys = oneKey.copy(distinct = Some(1000), min = Some(0), max = Some(99)))
    val ranged = base.probe.copy(scanRows = 50000, keys = Some(oneKey.copy(min = Some(0), max = Some(999))))
    assert(source(base.build) == PassRateSource.Unknown)
    assert(source(base.build.copy(rows = 0)) == PassRateSource.NoRows)
    assert(source(base.build.copy(originRows = Some(10000))) == PassRateSource.Rows)
    assert(source(counted) == PassRateSource.DistinctKeys)
    assert(source(counted, ranged) == PassRateSource.KeyRange)
    assert(source(counted, ranged.copy(keys = ranged.keys.map(_.copy(distinct = Some(100))))) == PassRateSource.Distributions)
    assert(source(
      base.build.copy(originRows = Some(base.build.rows)),
      base.probe.copy(keys = Some(oneKey.copy(distinct = Some(5000000))))
    ) ==
      PassRateSource.ProbeKeys)
    assert(source(base.build.copy(keys = oneKey.copy(columns = 2)), base.probe.copy(scanRows = 100000)) == PassRateSource.Composite)
  }

  test("a histogram with few probe rows in the build side's range lowers the rate") {
    val buckets = Seq(KeyBucket(0, 99, 10), KeyBucket(100, 999, 990))
    val probe = base.probe.copy(keys = Some(oneKey.copy(distinct = Some(1000), histogram = buckets)))
    val build = base.build.copy(keys = oneKey.copy(distinct = Some(100), min = Some(0), max = Some(99)))
    about(0.01)(estimate(build, probe))
  }

  test("with disjoint key ranges, no row passes") {
    val probe = base.probe.copy(keys = Some(oneKey.copy(distinct = Some(1000), min = Some(5000), max = Some(9999))))
    val build = base.build.copy(keys = oneKey.copy(distinct = Some(100), min = Some(0), max = Some(99)))
    about(0)(estimate(build, probe))
  }

  test("a Bloom filter adds false positives, an exact set adds none") {
    val facts = base.copy(build = base.build.copy(originRows = Some(100000)))
    about(0.01)(estimateOf(facts, limits))
    about(0.01 + 0.99 * 0.05)(estimateOf(
      facts,
      limits.updated(AqeConf.FilterExactMaxKeys, 10L).updated(AqeConf.FilterFalsePositiveRate, 0.05)
    ))
  }
}
