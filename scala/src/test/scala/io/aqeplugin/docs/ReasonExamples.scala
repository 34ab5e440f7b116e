package io.aqeplugin.docs

import io.aqeplugin.conf.{AqeConf, ConfEntry}
import io.aqeplugin.decide.ReasonCode
import io.aqeplugin.decide.ReasonCode._

/** An example of each reason, for `docs/reference/reasons.md`. */
object ReasonExamples {

  private def millis(nanos: ConfEntry[Double]): Long = math.round(nanos.default / 1e6)

  def of(code: ReasonCode): String = code match {
    case Cheapest => "In the example above: the broadcast with filter, which has the lowest price."
    case Costlier => "In the example above: the other five options, each with its price and that of the chosen option."
    case Tie      =>
      "Sort-merge costs 1,000 ms and broadcast 960 ms: 4 % is within `cost.tieRatio` 5 %, and Spark plans a sort-merge join. Or a sort-merge join saves 20 ms of a broadcast of Spark's, less than `cost.jobLaunchNanos` 25 ms."
    case Hint => "`SELECT /*+ MERGE(store_returns) */ …`: the join stays a sort-merge join; its keys may still filter the other scan."
    case CommandHint =>
      "`MERGE INTO ice.db.target`: Spark forbids a broadcast of the target, so that it sees a row that matches twice."
    case BroadcastMemory =>
      "4,000,000 rows of 500 bytes, 8 MB as a compressed shuffle: with 48 bytes of hash table per row they take 2.2 GB, and the limit is 128 MB."
    case BroadcastRows  => "6,000,000 rows; the limit is 5,000,000."
    case BroadcastWidth =>
      "The build side is `repeat(max(note), 900)`, grouped by the key: the stage below has measured the notes but not the result."
    case BroadcastJoinType =>
      "`a LEFT JOIN b` where `a` finishes first: Spark cannot broadcast the side whose rows are all kept. Or `spark.sql.autoBroadcastJoinThreshold=-1`."
    case MoreWriteTasks =>
      "`INSERT INTO t SELECT … FROM fact JOIN dim ON …`: AQE writes from two tasks after the shuffle, the scan of `fact` has 64."
    case ShuffledHashMemory =>
      "3,000,000 rows of 60 bytes and 48 bytes of hash table take 324 MB; of executors with 8 GB for four tasks, a task is sure to get 296 MB, and the limit is half."
    case ShuffledHashJoinType => "`a FULL OUTER JOIN b`: the rows without a partner of both sides are kept."
    case AlreadyBroadcast     => "A dimension of 200 rows that Spark broadcast: only its filter is decided."
    case OtherStrategy        =>
      "`spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold` is 64m, and AQE hashes the build side, whose partitions are all smaller."
    case ProbeStarted    => "The fact table's stage did not wait and started before this build side had finished."
    case NotWorthLooking =>
      s"Two joins of tables with 1,000 rows: on two slots 1 ms of work, whatever is done; to look at them takes ${2 * millis(AqeConf.CostLookNanosPerJoin)} ms, and a filter the launch of a job, ${millis(AqeConf.CostJobLaunchNanos)} ms."
    case FactsMissing => "The build stage read a cache without a row count."
    case FilterPays   =>
      "In the example above: 44,000 build keys let 1.3 % of 28.8 million probe rows pass. Checking all rows costs less than joining the removed ones."
    case FilterCostsMore =>
      "41 ms with a filter, 30 ms without: the job that builds the filter costs more than the removed rows."
    case PassRateTooHigh    => "The build side kept 95 % of its rows; `filter.maxPassRate` is 0.7."
    case TooFewRows         => "The scan produces 5,000 rows; `filter.minProbeRows` is 20,000."
    case FilterTooBig       => "80 million keys need a Bloom filter of 111 MB at 1 % false positives; `filter.maxBytes` is 64 MB."
    case JoinType           => "`fact LEFT JOIN returns`: a fact row without a return stays in the answer."
    case EngineKey          => "Comet runs the query, and the key is a decimal, or `upper(name)`."
    case UnsupportedKeyType => "The key is an array, or a struct of nothing else."
    case KeyNotPlain        => "`ON a.x + a.y = b.k` reads two columns, and `ON my_function(a.x) = b.k` calls a function of a user's."
    case NonDeterministic   =>
      "`ORDER BY score LIMIT 10` with two rows tied at position 10: a run after the loss of an executor may return the other row."
    case NoTargetScan =>
      "The key is `count(*)` of a subquery, which is no column of a scan, and a broadcast join does not shuffle its rows."
    case NoBuildExchange => "A join of two bucketed tables: nothing is shuffled, so there is no finished stage to read keys from."
    case ReusedExchange  => "TPC-DS q24: the sales are read once for the query and its subquery, which keeps the items of all colours."
    case UnionOfUses     =>
      "One aggregate of the sales is joined to the returns for one reason, and again for another: its scan keeps the sales returned for either."
    case ReuseOff       => "`spark.sql.exchange.reuse=false`."
    case CacheNotLoaded => "The first query after `CACHE LAZY TABLE dim` that shuffles `dim` for a join; the next one has its filters."
    case AlreadyFilteredBySpark =>
      "Dynamic partition pruning that a broadcast of the plan gives its values, or `might_contain`, on the same column."
    case MaxFiltersPerScan =>
      "A fact table is joined with six filtered dimensions, and `filter.maxPerScan` is 4: the two filters with the highest pass rates are left out."
    case MaxFiltersPerPlan =>
      "A query with 70 filtered joins: the limit is 64. AQE plans a copy of the build side for each, with the filters in it: all copies may have 4,096 operators."
    case ForeignNode =>
      "Gluten or RAPIDS runs the query: the reason names the class of its operator."
    case RepeatedRequest => "AQE re-planned the join three times; the filter was requested once and is not requested again."
    case FilterReady     =>
      "TPC-DS q14: three scans of sales join the same months of `date_dim`; the other two scans use the filter of the first."
    case KeepsPartitions =>
      "An Iceberg table joins another by their partitions, with `spark.sql.sources.v2.bucketing.enabled`; its rows are filtered all the same."
    case RewritesFiles =>
      "`MERGE` into an Iceberg table whose `write.merge.mode` is `copy-on-write`: a row that is not read would not be written again."
    case TextOrder    => "The key `'Zürich'` and a table of ORC files; of Parquet, Iceberg and Delta such keys leave out files."
    case BuildTimeout =>
      "The cluster lost an executor, and the filter took longer than `filter.buildTimeout` 30,000 ms; or its job had no slot for `filter.slotTimeout` 5,000 ms."
    case BuildFailed  => "The job that builds the filter lost a shuffle file. The query continues, and every row passes."
    case GatesOpen    => "`spark.aqePlugin.test.openGates=true`, in this project's tests."
    case Forced       => "`spark.aqePlugin.force` is `inner:ss_item_sk=i_item_sk=broadcast+filter`, to measure that option."
    case MemoryBudget =>
      "A driver of 1 GB lends 204 MB; other queries hold 128 MB of it, and this build side would take 90 MB: it is sorted."
    case WaitPays => "A scan of 28 million rows waits for a dimension of 72 rows: half the saving is 2,500 ms, and idle slots cost 40 ms."
    case NotWorthWaiting =>
      "The build side reads as much as the probe side, on one of two slots: half the saving is 300 ms, and idle slots cost 900 ms."
    case WaitReleased =>
      "After 60 s no task of the build side is done, and 56 of 64 slots are idle: 52 s of idle slots to come, for half a saving of 5 s. Or two of four tasks of the build side wrote so many rows that 95 % of the probe rows would pass; `filter.maxPassRate` is 0.7."
    case WaitTooLong =>
      "The build side is one task that reads 40 GB: the other slots would be idle for longer than `wait.maxIdle` 60,000 ms."
    case NothingToGain  => "A filter would cost more than it saves, and the build side is too large for a broadcast."
    case EnoughRows     => "`LIMIT 100000` over 2,000 files of 1,000 rows: 100 files hold the rows, and the others are not opened."
    case RowsNotProven  => "`WHERE name LIKE 'a%' LIMIT 100`: no statistic says how many rows match."
    case AllFilesNeeded => "`LIMIT 5000000` inside a query on a table of 2 million rows, or a table of one file."
    case TopRows        => "`ORDER BY day DESC LIMIT 100`: the newest file has 1,000 rows, and every other file ends before its first day."
    case RangesOverlap  => "`ORDER BY price LIMIT 100` where every file has low and high prices."
    case SortKeyType    => "`ORDER BY name LIMIT 100` or `ORDER BY a + b LIMIT 100`: a footer may hold a truncated string and knows no sum."
    case LimitOperatorBelow    => "`SELECT DISTINCT k FROM t LIMIT 10`: the aggregate needs rows of all groups."
    case LimitNonDeterministic => "`SELECT * FROM t WHERE rand() < 0.1 LIMIT 10`."
    case LimitMayFail          => "`SELECT * FROM t WHERE CAST(s AS INT) > 5 LIMIT 10` where a string may be no number."
    case LimitSource       => "A cached table, JSON or CSV files, an Iceberg table, a Delta table with deletion vectors, a bucketed scan."
    case FilesMayBeSkipped => "`spark.sql.files.ignoreCorruptFiles=true`: the rows of a chosen file may be missing."
    case ObserveMode       =>
      "`spark.aqePlugin.mode=observe`; or `WITH RECURSIVE`, or `Dataset.observe` below a join: the joins of such a query are only observed."
    case other => throw new NoSuchElementException(s"no example of ${other.name}")
  }
}
