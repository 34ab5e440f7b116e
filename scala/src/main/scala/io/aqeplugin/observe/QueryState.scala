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
  private val refused = new AtomicBoolean()
  private val over = new AtomicReference[Option[Long]](None)

  private val tables = new IdentityHashMap[FileIndex, Option[TableFacts]]()
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
  def refuse(): Boolean = {
    val first = refused.compareAndSet(false, true)
    if (first) errors.increment()
    first
  }

  /** What the join was estimated at; none when it was not, or is to be estimated anew. */
  def estimate(joinId: String): Option[JoinEstimate] = joins(joinId).estimate

  /** The estimate of a join, made by `make` if there is none.
    *
    * @param runs
    *   one side of the join runs
    */
  def estimateOnce(joinId: String, runs: Boolean)(make: => JoinEstimate): JoinEstimate = {
    // A side runs by the estimate that this thread goes on with: no other thread may forget that one.
    val known = if (runs) joins.change(joinId)(_.start)._2 else joins(joinId)
    known.estimate.getOrElse {
      val made = make
      joins.change(joinId)(_.see(made, runs))._2.estimate.getOrElse(made)
    }
  }

  /** Keeps the estimate of a join for good: one side of it runs. */
  def start(joinId: String): Unit = { val _ = joins.change(joinId)(_.start) }

  /** Lets a join of which no side runs be estimated anew. */
  def forget(joinId: String): Unit = { val _ = joins.change(joinId)(_.forget) }

  /** The decision that was made from the measured build side. */
  def decision(joinId: String): Option[JoinDecision] = joins(joinId).decision

  /** The decision of a join, made by `decide` if there is none yet. */
  def decideOnce(joinId: String)(decide: => JoinDecision): JoinDecision = decision(joinId).getOrElse {
    val made = decide
    joins.change(joinId)(_.decide(made))._2.decision.getOrElse(made)
  }

  def knowsTable(table: FileIndex): Boolean = tables.synchronized(tables.containsKey(table))

  /** What the files of a scanned table say of it, found by `read` the first time: listing the files of a large table is not free. */
  def tableFacts(table: FileIndex)(read: => Option[TableFacts]): Option[TableFacts] = tables.synchronized {
    if (tables.containsKey(table)) {
      tables.get(table)
    } else {
      val facts = read
      val _ = tables.put(table, facts)
      facts
    }
  }

  /** Decisions that nobody has written down yet; each is handed out once. */
  def unwritten(): Seq[JoinDecision] = joins.ids.flatMap { id =>
    joins.change(id)(_.write) match {
      case (before: JoinLife.Decided, _) => Some(before.made)
      case _                             => None
    }
  }

  /** Why a join is left alone for now, judged anew by `decide` only when `by` has changed: most joins of a large plan stay as they are while AQE plans
    * again and again. It counts if nothing is decided until the query ends.
    */
  def refuseOnce(joinId: String, by: AnyRef)(decide: => JoinDecision): JoinDecision = joins(joinId).refusal.filter(_.by == by) match {
    case Some(known) => known.decision
    case None        =>
      val decision = decide
      val _ = joins.change(joinId)(_.refuse(JoinLife.Refusal(by, decision)))
      decision
  }

  /** Ends the lives of all joins. What is still to be written down of them; each decision is handed out once. */
  def endJoins(): Seq[JoinDecision] = {
    val ran = startedFilters.flatMap(_.joinIds).toSet
    joins.ids.flatMap(id => joins.change(id)(_.end)._1.unwritten(ran(id)))
  }

  def place(filter: PlacedFilter): Unit = { val _ = joins.change(filter.joinId)(_.place(filter)) }
  def filtersOf(joinId: String): Seq[PlacedFilter] = joins(joinId).filters.values.toSeq.sortBy(_.filterId)

  /** Remembers the filters of a scan that begins to run, once per scan. The final plan does not show all of them: a reused stage hides its filters,
    * and a stage whose rows were all removed is gone from the plan.
    */
  def start(filters: StartedFilters): Unit = { val _ = started.add(filters) }

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
