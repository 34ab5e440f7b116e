package io.aqeplugin.observe

import java.util.IdentityHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference, LongAdder}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.datasources.FileIndex

import io.aqeplugin.conf.{Mode, TrialArm}
import io.aqeplugin.decide._

/** The memory of one SQL execution. AQE makes its plans anew after every stage; what was decided before stays decided here. Thread-safe:
  * subqueries of one execution are planned on threads of their own.
  */
final class QueryState(val executionId: Long) {

  /** When the query was planned first, on the clock of `System.nanoTime`. */
  val startNanos: Long = System.nanoTime()

  private val joins = new JoinLives
  private val started = new ConcurrentLinkedQueue[StartedFilters]()
  private val ended = new AtomicBoolean()
  private val badConf = new AtomicBoolean()
  private val over = new AtomicReference[Option[Long]](None)

  private val tables = new IdentityHashMap[FileIndex, Option[TableFacts]]().asScala
  private val queryConf = new AtomicReference[Option[QueryConf]](None)

  /** What the rules work with, once it is known. */
  def conf: Option[QueryConf] = queryConf.get

  /** What the rules work with: what `first` gives when it is asked first. Reading every key anew at each re-plan would cost more than most decisions. */
  def confOnce(first: => QueryConf): QueryConf = queryConf.get.getOrElse {
    val made = first
    if (queryConf.compareAndSet(None, Some(made))) made else queryConf.get.getOrElse(made)
  }

  /** The mode the query is planned in. */
  def mode: Mode = conf.fold[Mode](Mode.Apply)(_.mode)

  /** The side of a trial that the query is on; none when nothing is tried. */
  def arm: Option[TrialArm] = conf.flatMap(_.arm)

  def origin: QueryOrigin = conf.fold(QueryOrigin.Unknown)(_.origin)

  /** Nanoseconds spent in our rules. */
  val ruleNanos = new LongAdder()

  /** Faults of our code while this query ran. */
  val errors = new LongAdder()

  /** Counts, once, that the query's conf cannot be used; whether this was the first time. */
  def countBadConf(): Boolean = {
    val first = badConf.compareAndSet(false, true)
    if (first) errors.increment()
    first
  }

  /** What the join was estimated at; none when it was not, or is to be estimated anew. */
  def estimate(joinId: String): Option[JoinFacts] = joins(joinId).estimate

  /** The estimate of a join, made by `make` if there is none.
    *
    * @param sideRuns
    *   one side of the join runs
    */
  def estimateOnce(joinId: String, sideRuns: Boolean)(make: => JoinFacts): JoinFacts = {
    // A side runs by the estimate that this thread goes on with: no other thread may forget that one.
    val known = if (sideRuns) joins.change(joinId)(_.keepEstimate)._2 else joins(joinId)
    known.estimate.getOrElse {
      val made = make
      joins.change(joinId)(_.see(made, sideRuns))._2.estimate.getOrElse(made)
    }
  }

  /** Keeps the estimate of a join for good: one side of it runs. */
  def keepEstimate(joinId: String): Unit = { val _ = joins.change(joinId)(_.keepEstimate) }

  /** Lets a join of which no side runs be estimated anew. */
  def forgetEstimate(joinId: String): Unit = { val _ = joins.change(joinId)(_.forgetEstimate) }

  /** The decision that was made from the measured build side. */
  def decision(joinId: String): Option[JoinDecision] = joins(joinId).decision

  /** The decision of a join, made by `decide` if there is none yet. */
  def decideOnce(joinId: String)(decide: => JoinDecision): JoinDecision = decision(joinId).getOrElse {
    val made = decide
    joins.change(joinId)(_.decide(made))._2.decision.getOrElse(made)
  }

  def knowsTable(table: FileIndex): Boolean = tables.synchronized(tables.contains(table))

  /** What the files of a scanned table say of it, found by `read` the first time: listing the files of a large table is not free. */
  def tableFacts(table: FileIndex)(read: => Option[TableFacts]): Option[TableFacts] =
    tables.synchronized(tables.getOrElseUpdate(table, read))

  /** Decisions that are new, to be reported now that their filters have their scans: each is handed out once. */
  def placeDecided(): Seq[JoinDecision] = joins.ids.flatMap { id =>
    joins.change(id)(_.place) match {
      case (before: JoinLife.Decided, _) => Some(before.made)
      case _                             => None
    }
  }

  /** Leaves a join alone for now, by the decision that says why. It is made anew by `decide` only when `by` has changed: most joins of a large plan
    * stay as they are while AQE plans again and again. It counts if nothing is decided until the query ends.
    */
  def leaveAloneOnce(joinId: String, by: AnyRef)(decide: => JoinDecision): JoinDecision =
    joins(joinId).leftAlone.filter(_.by == by) match {
      case Some(known) => known.decision
      case None        =>
        val decision = decide
        val _ = joins.change(joinId)(_.leaveAlone(JoinLife.LeftAlone(by, decision)))
        decision
    }

  /** Ends the lives of all joins. What is still to be reported of them: each decision is handed out once. */
  def endJoins(): Seq[JoinDecision] = {
    val ran = startedFilters.flatMap(_.joinIds).toSet
    joins.ids.flatMap(id => joins.change(id)(_.end)._1.unreported(ran(id)))
  }

  def noteFilter(filter: PlacedFilter): Unit = { val _ = joins.change(filter.joinId)(_.noteFilter(filter)) }
  def filtersOf(joinId: String): Seq[PlacedFilter] = joins(joinId).filters.values.toSeq.sortBy(_.filterId)

  /** Remembers the filters of a scan that begins to run, once per scan. The final plan does not show all of them: a reused stage hides its filters,
    * and a stage whose rows were all removed is gone from the plan.
    */
  def rememberStarted(filters: StartedFilters): Unit = { val _ = started.add(filters) }

  private def startedFilters: Seq[StartedFilters] = started.asScala.toSeq

  /** The outcomes of all filters that ran, in stages and subqueries too. Scans that were never started have none. */
  def filterOutcomes: Seq[FilterOutcome] = startedFilters.flatMap(_.outcomes)

  /** Faults that tasks of the query met in its filters. */
  def filterFaults: Long = startedFilters.map(_.faults).sum

  /** When it was first noticed that the execution is over, on the clock of `nowNanos`: now, if it was not before. */
  private[observe] def overSince(nowNanos: Long): Long = {
    val _ = over.compareAndSet(None, Some(nowNanos))
    over.get.getOrElse(nowNanos)
  }

  /** True the first time it is asked. */
  def end(): Boolean = ended.compareAndSet(false, true)
}
