package io.aqeplugin.limit

import java.util.concurrent.atomic.AtomicLong

import scala.util.chaining._

import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.expressions.{Descending, NullsFirst}
import org.apache.spark.sql.execution._

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.observe.ClusterSize
import io.aqeplugin.storage.{ConditionRanges, ScanName}

/** One limit of a plan that is made for an execution. */
private[limit] final class LimitOfPlan(plan: SparkPlan, child: SparkPlan, all: LimitsOfPlan) {
  import all.{maxFooters, mode, slots, thresholds}

  /** A scan and the limit over it. */
  private type Changed = (FileSourceScanExec, SparkPlan)

  private val splitsStarted = new AtomicLong()

  private val scanned: Either[Reason, LimitedScan] = LimitedScan.below(child)

  private val found: Either[Reason, (LimitedScan, ScanFiles)] = for {
    limited <- scanned
    _ <- all.engine.map(name => Reason(ReasonCode.LimitSource, subject = name)).toLeft(())
    _ <- Either.cond(!maySkipFiles(limited.scan), (), Reason(ReasonCode.FilesMayBeSkipped))
    files <- ScanFiles.of(limited.scan)
  } yield (limited, files)

  def collected(limit: CollectLimitExec): SparkPlan = decided(limit.limit, LimitOperator.Collect) { (limited, files) =>
    val (decision, choice) = fewest(limited, files, limit.limit, LimitOperator.Collect)
    (
      decision,
      Option.when(decision.choice != LimitChoice.LeaveToSpark) {
        val scan = if (choice.order.size < files.files.size) files.reading(choice.order) else limited.scan
        val inWaves = decision.choice == LimitChoice.Waves
        val pace = if (inWaves) paceOf(files) else paceOf(files, choice, limit.limit)
        val ranks = if (inWaves) choice.first.map(files.files(_).getPath.toString) else Nil
        val newChild = limited.replacedIn(child, scan)
        val why = decision.inPlan
        val collect =
          CollectLimitFilesExec(limit.limit, limit.offset, newChild, pace, ranks, why)(slots, splitsStarted, ChosenFiles.widened(_))
        (scan, collect)
      }
    )
  }

  def inner(limit: LocalLimitExec): SparkPlan = decided(limit.limit, LimitOperator.Inner) { (limited, files) =>
    val (decision, choice) = fewest(limited, files, limit.limit, LimitOperator.Inner)
    (
      decision,
      Option.when(decision.choice != LimitChoice.LeaveToSpark) {
        val scan = files.reading(choice.order)
        (scan, limit.copy(child = limited.replacedIn(child, scan)))
      }
    )
  }

  /** @param isRoot
    *   whether the driver collects the rows
    */
  def top(top: TakeOrderedAndProjectExec, isRoot: Boolean): SparkPlan = decided(top.limit, LimitOperator.Top) { (limited, files) =>
    val first = top.sortOrder.head
    val order = TopOrder(first.direction == Descending, first.nullOrdering == NullsFirst)
    val key = limited.source(first.child).filter(key => ConditionRanges.isOrdered(key.dataType))
    key match {
      case None => (LimitDecision.leftToSpark(facts(limited, files, top.limit, LimitOperator.Top), Reason(ReasonCode.SortKeyType)), None)
      case Some(key) =>
        val (known, searched) = all.limits.topOnce(LimitsOfQuery.OfFiles(plan.canonicalized, files.paths)) {
          val search = searchOf(limited, files)
          val searched = search.top(key, top.limit, order)
          (facts(limited, files, top.limit, LimitOperator.Top, search), searched)
        }
        searched match {
          case Left(code) =>
            (LimitDecision.leftToSpark(known, Reason(code, confKey = if (maxFooters == 0) AqeConf.LimitMaxFooters.key else "")), None)
          case Right(found) =>
            val inOrder = isRoot && top.limit > 0 && found.paysInOrder && found.files.size > slots
            val decision =
              LimitDecision.top(known, found.files.size, found.proven.isDefined, inOrder, maxFooters, AqeConf.LimitMaxFooters.key)
            (
              decision,
              Option.when(decision.choice == LimitChoice.TopFiles) {
                val reader = new TopReader(limited, files, key, order)
                val scan = reader.reading(found)
                val newChild = limited.replacedIn(child, scan)
                (
                  scan,
                  if (inOrder)
                    TakeOrderedFilesExec(top.limit, top.offset, top.sortOrder, top.projectList, newChild, decision.inPlan)(
                      TopWaves.of(found.files, top.limit, slots),
                      reader.scanOf(scan),
                      splitsStarted
                    )
                  else top.copy(child = newChild)
                )
              }
            )
        }
    }
  }

  private def fewest(limited: LimitedScan, files: ScanFiles, rowsWanted: Long, operator: LimitOperator): (LimitDecision, FileChoice) = {
    val (known, choice) = all.limits.fewestOnce(LimitsOfQuery.OfFiles(plan.canonicalized, files.paths)) {
      val search = searchOf(limited, files)
      val choice = search.fewest(rowsWanted)
      (facts(limited, files, rowsWanted, operator, search), choice)
    }
    (LimitDecision.of(known, choice, maxFooters, AqeConf.LimitMaxFooters.key), choice)
  }

  /** Records the decision, and returns the changed plan in mode apply. */
  private def decided(rowsWanted: Long, operator: LimitOperator)(
      decide: (LimitedScan, ScanFiles) => (LimitDecision, Option[Changed])
  ): SparkPlan = found match {
    case Left(reason) =>
      val table = scanned.fold(_ => "", limited => ScanName.of(limited.scan))
      record(LimitDecision.leftToSpark(LimitFacts(operator, table, rowsWanted), reason), applied = false)(None)
      plan
    case Right((limited, files)) =>
      val (decision, changed) = decide(limited, files)
      val applied = changed.filter(_ => mode == Mode.Apply)
      record(decision, applied.isDefined)(Some(applied.fold(limited.scan)(_._1)))
      applied.fold(plan)(_._2)
  }

  private def record(decision: LimitDecision, applied: Boolean)(ran: Option[FileSourceScanExec]): Unit = {
    all.announce(decision)
    all.limits.note(DecidedLimit(
      System.currentTimeMillis(),
      mode,
      decision,
      applied,
      () =>
        ran.map { scan =>
          def counted(metric: String): Long = scan.metrics.get(metric).fold(0L)(_.value)
          LimitOutcome(counted("numFiles"), counted("numOutputRows"), Some(splitsStarted.get).filter(_ > 0))
        }
    ))
  }

  private def searchOf(limited: LimitedScan, files: ScanFiles): FooterSearch =
    new FooterSearch(files, limited.conditions, maxFooters.min(Int.MaxValue).toInt, all.endNanos)

  private def facts(limited: LimitedScan, files: ScanFiles, rowsWanted: Long, operator: LimitOperator): LimitFacts =
    LimitFacts(operator, ScanName.of(limited.scan), rowsWanted, files.files.size, files.bytes)

  private def facts(
      limited: LimitedScan,
      files: ScanFiles,
      rowsWanted: Long,
      operator: LimitOperator,
      search: FooterSearch
  ): LimitFacts = facts(limited, files, rowsWanted, operator).copy(footers = search.footersKnown, footerMillis = search.waitedMillis)

  /** A selective limit must be able to make an application with dynamic allocation grow: Spark requests executors for tasks that wait. */
  private def paceOf(files: ScanFiles): WavePace = {
    val most = thresholds(AqeConf.LimitMaxSplits).pipe { set =>
      if (set > 0) set
      else ClusterSize.mostSlots(all.sparkContext).fold(Long.MaxValue)(TaskSplits.queued(files.bytes / files.files.size, _))
    }
    WavePace(
      thresholds(AqeConf.LimitFirstSplits).min(Int.MaxValue).toInt,
      thresholds(AqeConf.LimitGrowth),
      most.min(Int.MaxValue).toInt
    )
  }

  /** The pace through files that surely have enough rows: all at once, unless they have many more rows than wanted, in many splits. */
  private def paceOf(files: ScanFiles, choice: FileChoice, rowsWanted: Long): WavePace = {
    val splitBytes = files.scan.conf.filesMaxPartitionBytes
    val splits = choice.first.map(file => math.ceil(files.files(file).getLen.toDouble / splitBytes).max(1.0)).sum
    val enough = math.ceil(splits * rowsWanted / math.max(1L, choice.provenRows))
    WavePace(math.max(slots.toDouble, enough).min(Int.MaxValue).toInt, thresholds(AqeConf.LimitGrowth), Int.MaxValue)
  }

  private def maySkipFiles(scan: FileSourceScanExec): Boolean = {
    val options = new FileSourceOptions(scan.relation.options)
    options.ignoreMissingFiles || options.ignoreCorruptFiles
  }
}
