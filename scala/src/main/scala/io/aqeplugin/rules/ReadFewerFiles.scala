package io.aqeplugin.rules

import java.util.concurrent.atomic.AtomicLong

import scala.util.chaining._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.expressions.{Descending, NullsFirst}
import org.apache.spark.sql.execution._

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide._
import io.aqeplugin.exec.CollectLimitFilesExec
import io.aqeplugin.observe.{DecidedLimit, LimitOutcome}
import io.aqeplugin.place.LimitedScan
import io.aqeplugin.storage.{ConditionRanges, FooterSearch, ScanAdapter, ScanFiles}
import io.aqeplugin.tell.{DecisionLog, ExplainText}

/** Lets the scan below a limit read fewer files.
  *
  * Runs before Spark makes columnar transitions: once for a query without an exchange, and once for each stage that AQE creates. So a choice
  * is made once, however often AQE plans anew.
  *
  * A `LocalLimit` may take any rows of its input: Spark puts it only where the rows of a single partition would do, and its plans do not
  * depend on how rows are spread over partitions.
  */
final case class ReadFewerFiles(session: SparkSession) extends SafeRule[SparkPlan](session) {

  override protected def concerns(plan: SparkPlan): Boolean = plan.exists {
    case _: CollectLimitExec | _: LocalLimitExec | _: TakeOrderedAndProjectExec => true
    case _                                                                      => false
  }

  override protected def change(plan: SparkPlan, context: RuleContext): SparkPlan =
    // A plan that is made before its query runs, by explain for example, may meet other files than those that it was made for.
    if (plan.logicalLink.exists(_.isStreaming) || !context.isExecution) plan
    else
      plan.transformDown {
        case limit: CollectLimitExec if limit.limit >= 0 => new Limited(limit, limit.child, context).collected(limit)
        case limit: LocalLimitExec                       => new Limited(limit, limit.child, context).inner(limit)
        case top: TakeOrderedAndProjectExec              => new Limited(top, top.child, context).top(top)
      }
}

/** One limit of a plan. */
private final class Limited(plan: SparkPlan, child: SparkPlan, context: RuleContext) {

  /** A scan and the limit over it. */
  private type Changed = (FileSourceScanExec, SparkPlan)

  private val thresholds = context.thresholds
  private val splitsStarted = new AtomicLong()
  private val maxFooters = thresholds(AqeConf.LimitMaxFooters)

  private val scanned: Either[Reason, LimitedScan] = LimitedScan.below(child)

  private val found: Either[Reason, (LimitedScan, ScanFiles)] = for {
    limited <- scanned
    _ <- Either.cond(!maySkipFiles(limited.scan), (), Reason(ReasonCode.FilesMayBeSkipped))
    files <- ScanFiles.of(limited.scan)
  } yield (limited, files)

  def collected(limit: CollectLimitExec): SparkPlan = decided(limit.limit, LimitOperator.Collect) { (limited, files) =>
    val (decision, choice) = fewest(limited, files, limit.limit, LimitOperator.Collect)
    (
      decision,
      Option.when(decision.choice != LimitChoice.LeaveToSpark) {
        val scan = if (choice.order.size < files.files.size) files.reading(choice.order) else limited.scan
        val pace = Option.when(decision.choice == LimitChoice.Waves)(this.pace)
        val ranks = if (pace.isEmpty) Nil else choice.first.map(files.files(_).getPath.toString)
        val newChild = limited.replacedIn(child, scan)
        (scan, CollectLimitFilesExec(limit.limit, limit.offset, newChild, pace, ranks, ExplainText.short(decision))(splitsStarted))
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

  def top(top: TakeOrderedAndProjectExec): SparkPlan = decided(top.limit, LimitOperator.Top) { (limited, files) =>
    val order = top.sortOrder.head
    val nullsFirst = order.nullOrdering == NullsFirst
    val key = limited.source(order.child).filter(key => ConditionRanges.isOrdered(key.dataType))
    key match {
      case None => (LimitDecision.leftToSpark(facts(limited, files, top.limit, LimitOperator.Top), Reason(ReasonCode.SortKeyType)), None)
      case Some(key) =>
        val search = searchOf(limited, files)
        val choice = search.top(key, top.limit, order.direction == Descending, nullsFirst)
        val decision =
          LimitDecision.top(facts(limited, files, top.limit, LimitOperator.Top, search), choice, maxFooters, AqeConf.LimitMaxFooters.key)
        (
          decision,
          choice.filter(_ => decision.choice == LimitChoice.TopFiles).map { choice =>
            val upTo = choice.bound.flatMap(ScanAdapter.upTo(limited.scan, key, _, order.direction == Descending, nullsFirst))
            val scan = files.reading(choice.kept, upTo.toSeq)
            (scan, top.copy(child = limited.replacedIn(child, scan)))
          }
        )
    }
  }

  private def fewest(limited: LimitedScan, files: ScanFiles, rowsWanted: Long, operator: LimitOperator): (LimitDecision, FileChoice) = {
    val search = searchOf(limited, files)
    val choice = search.fewest(rowsWanted)
    (LimitDecision.of(facts(limited, files, rowsWanted, operator, search), choice, maxFooters, AqeConf.LimitMaxFooters.key), choice)
  }

  /** Records the decision, and returns the changed plan in mode apply. */
  private def decided(rowsWanted: Long, operator: LimitOperator)(
      decide: (LimitedScan, ScanFiles) => (LimitDecision, Option[Changed])
  ): SparkPlan = found match {
    case Left(reason) =>
      val table = scanned.fold(_ => "", limited => ReportedDecisions.tableName(limited.scan))
      record(LimitDecision.leftToSpark(LimitFacts(operator, table, rowsWanted), reason), applied = false)(None)
      plan
    case Right((limited, files)) =>
      val (decision, changed) = decide(limited, files)
      val applied = changed.filter(_ => context.mode == Mode.Apply)
      record(decision, applied.isDefined)(Some(applied.fold(limited.scan)(_._1)))
      applied.fold(plan)(_._2)
  }

  private def record(decision: LimitDecision, applied: Boolean)(ran: Option[FileSourceScanExec]): Unit = if (context.isExecution) {
    DecisionLog.announce(context.state, decision)
    context.state.noteLimit(DecidedLimit(
      System.currentTimeMillis(),
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
    new FooterSearch(files, limited.conditions, maxFooters.min(Int.MaxValue).toInt, thresholds(AqeConf.LimitFooterTimeout))

  private def facts(limited: LimitedScan, files: ScanFiles, rowsWanted: Long, operator: LimitOperator): LimitFacts =
    LimitFacts(operator, ReportedDecisions.tableName(limited.scan), rowsWanted, files.files.size, files.bytes)

  private def facts(
      limited: LimitedScan,
      files: ScanFiles,
      rowsWanted: Long,
      operator: LimitOperator,
      search: FooterSearch
  ): LimitFacts = facts(limited, files, rowsWanted, operator).copy(footers = search.footersKnown, footerMillis = search.waitedMillis)

  private def pace: WavePace = {
    val most = thresholds(AqeConf.LimitMaxSplits).pipe(set => if (set > 0) set else Limited.QueuedPerSlot * context.cluster.slots)
    WavePace(
      thresholds(AqeConf.LimitFirstSplits).min(Int.MaxValue).toInt,
      thresholds(AqeConf.LimitGrowth),
      most.min(Int.MaxValue).toInt
    )
  }

  private def maySkipFiles(scan: FileSourceScanExec): Boolean = {
    val options = new FileSourceOptions(scan.relation.options)
    options.ignoreMissingFiles || options.ignoreCorruptFiles
  }
}

private object Limited {

  /** With fewer, the launch of jobs takes longer than small splits: 431 jobs for 861 files of 10,000 rows. */
  private val QueuedPerSlot = 16L
}
