package io.aqeplugin.tell

import io.aqeplugin.decide.ReasonCode
import io.aqeplugin.decide.ReasonCode._

/** One example of each reason, for `docs/how-it-decides.md`. */
object ReasonExamples {

  def of(code: ReasonCode): String = code match {
    case Cheapest => "In the example above: the broadcast with filter, whose sum is the smallest."
    case Costlier => "In the example above: the other three options, each with its sum and that of the taken one."
    case Tie      => "Sort-merge at 1,000 ms, broadcast at 960 ms: 4 % is within `cost.tieRatio` 5 %, and Spark does a sort-merge join."
    case Hint     => "`SELECT /*+ MERGE(store_returns) */ …`: the join stays a sort-merge join; its keys may still filter the other scan."
    case BroadcastMemory =>
      "4,000,000 rows of 500 bytes that were 8 MB of compressed shuffle: with 48 bytes of hash table per row 2.2 GB, the limit is 128 MB."
    case BroadcastRows  => "6,000,000 rows, the limit is 5,000,000."
    case BroadcastWidth =>
      "`repeat(max(note), 900)`, grouped by the key, as build side: the stage below has the notes, and nobody knows how long the result is."
    case BroadcastJoinType =>
      "`a LEFT JOIN b` with `a` done first: Spark cannot broadcast the side whose rows are all kept. Or `spark.sql.autoBroadcastJoinThreshold=-1`."
    case AlreadyBroadcast => "A dimension of 200 rows that Spark broadcast: only its filter is in question."
    case OtherStrategy    =>
      "`spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold` is 64m, and AQE asks to hash the build side, whose partitions are all smaller."
    case ProbeStarted => "The fact table's stage began before this build side was done, as no wait was made."
    case FactsMissing => "The build stage came out of a cache without a row count."
    case FilterPays   =>
      "In the example above: 44,000 build keys let 1.3 % of 28.8 million probe rows pass, and the check of all is cheaper than the rest."
    case FilterCostsMore =>
      "With a filter 41 ms, without one 30 ms: the launch of the job that builds it costs more than the rows it removes."
    case PassRateTooHigh    => "The build side kept 95 % of its rows, `filter.maxPassRate` is 0.7."
    case TooFewRows         => "The scan produces 5,000 rows, `filter.minProbeRows` is 20,000."
    case FilterTooBig       => "80 million keys are 111 MB of Bloom filter at 1 % false positives, `filter.maxBytes` is 64 MB."
    case JoinType           => "`fact LEFT JOIN returns`: a fact row without a return stays in the answer."
    case UnsupportedKeyType => "The key is an interval, a map or a struct."
    case CollatedKey        => "The key is `STRING COLLATE UTF8_LCASE`: 'A' equals 'a', their bytes differ."
    case KeyNotPlain        => "`ON a.k = CAST(b.path[0] AS INT)` behind `size(path) = 1`: computed on all rows, it would throw on some."
    case NonDeterministic   =>
      "`ORDER BY score LIMIT 10` with a tie at place 10: after the loss of an executor the other one of the two may come."
    case NoTargetScan    => "The key is `count(*)` of a subquery: no column of a scan."
    case NoBuildExchange => "A join of two bucketed tables: nothing is shuffled, so there is no finished stage to read keys from."
    case ReusedExchange  => "TPC-DS q95: `ws_wh` is read twice, and only one of the two joins may lose the rows."
    case ReuseOff        => "`spark.sql.exchange.reuse=false`."
    case CacheNotLoaded  => "The first query after `CACHE LAZY TABLE dim` that shuffles `dim` for a join; the next one has its filters."
    case AlreadyFilteredBySpark => "A dynamic partition pruning subquery, or `might_contain`, on the same column."
    case MaxFiltersPerScan      =>
      "A fact table that joins six filtered dimensions, `filter.maxPerScan` is 4: the two that would let most rows pass go."
    case MaxFiltersPerPlan => "A query of 70 filtered joins: the limit is 64, and AQE plans a copy of the build side for each."
    case RepeatedRequest   => "AQE planned the join anew three times; the filter was asked for the first time, and once is enough."
    case FilterReady       =>
      "TPC-DS q14: three scans of sales join the same months of `date_dim`; the filter of the first is there for the other two."
    case BuildTimeout => "The cluster lost an executor, and the filter took longer than `filter.buildTimeout` 30,000 ms."
    case BuildFailed  => "The job that builds the filter lost a shuffle file; the query goes on, every row passes."
    case GatesOpen    => "`spark.aqePlugin.test.openGates=true`, in this project's tests."
    case WaitPays => "Holding back a scan of 28 million rows for a dimension of 72 rows: half the saving is 2,500 ms, idle slots are 40 ms."
    case NotWorthWaiting =>
      "A build side that reads as much as the probe side, on one of two slots: half the saving is 300 ms, idle slots are 900 ms."
    case WaitTooLong =>
      "A build side of one task that reads 40 GB: the other slots would stand idle for more than `wait.maxIdle` 60,000 ms."
    case NothingToGain => "A filter is expected to cost more than it removes, and the build side does not fit a broadcast."
    case ObserveMode   => "`spark.aqePlugin.mode=observe`."
  }
}
