package io.aqeplugin.observe

import java.util.IdentityHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference, LongAdder}

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.datasources.FileIndex

import io.aqeplugin.conf.{Mode, TrialArm}
import io.aqeplugin.decide._
import io.aqeplugin.exec.RuntimeFilterExec

/** The memory of one SQL execution. AQE makes its plans anew after every stage; what was decided before stays decided here. Thread-safe:
  * subqueries of one execution are planned on threads of their own.
  */
final class QueryState(val executionId: Long) {

  /** When the query was planned first, on the clock of `System.nanoTime`. */
  val startNanos: Long = System.nanoTime()

  private val joins = TrieMap.empty[String, JoinState]
  private val decisions = TrieMap.empty[String, JoinDecision]
  private val recorded = TrieMap.empty[String, Unit]
  private val declined = TrieMap.empty[String, (AnyRef, JoinDecision)]
  private val placed = TrieMap.empty[String, PlacedFilter]
  private val hinted = TrieMap.empty[String, Strategy]
  private val started = new ConcurrentLinkedQueue[RuntimeFilterExec]()
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

  def join(joinId: String): Option[JoinState] = joins.get(joinId)
  def joinOrElse(joinId: String)(first: => JoinState): JoinState = joins.getOrElseUpdate(joinId, first)

  /** Keeps what is known of a join for good: one side of it runs. */
  def settle(joinId: String): Unit = joins.get(joinId).filterNot(_.settled).foreach { state =>
    // Lost against another thread that forgot the state: what comes in its place is settled from the start.
    val _ = joins.replace(joinId, state, state.copy(settled = true))
  }

  /** Lets a join that is not settled be weighed anew. */
  def forget(joinId: String): Unit = joins.get(joinId).filterNot(_.settled).foreach { state =>
    val _ = joins.remove(joinId, state)
  }

  def decision(joinId: String): Option[JoinDecision] = decisions.get(joinId)

  /** The decision of a join, made by `decide` if there is none yet. */
  def decideOnce(joinId: String)(decide: => JoinDecision): JoinDecision = decisions.getOrElseUpdate(joinId, decide)

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
  def unrecorded: Seq[JoinDecision] =
    decisions.iterator.collect { case (id, decision) if recorded.putIfAbsent(id, ()).isEmpty => decision }.toSeq

  /** Notes why a join is left alone for now; it counts if nothing is decided until the query ends. Weighed again only when what it was weighed
    * by has changed: most joins of a large plan stay as they are while AQE plans again and again.
    */
  def declineOnce(joinId: String, by: AnyRef)(decide: => JoinDecision): JoinDecision = declined.get(joinId) match {
    case Some((known, decision)) if known == by => decision
    case _                                      =>
      val decision = decide
      declined.update(joinId, (by, decision))
      decision
  }

  /** Joins for which nothing but a refusal came about. A filter of such a join that ran all the same was put in to wait, and then AQE had the build
    * side and the filter already, from another place of the plan, and went on without asking.
    */
  def undecided: Seq[JoinDecision] = {
    val ran = startedFilters.flatMap(_.labels).map(_.joinId).toSet
    val ready = Reason(ReasonCode.FilterReady)
    declined.iterator.collect {
      case (id, (_, decision)) if !decisions.contains(id) =>
        if (ran(id)) decision.copy(reason = ready, buildFilter = true, filterReason = ready) else decision
    }.toSeq
  }

  def hint(joinId: String): Option[Strategy] = hinted.get(joinId)
  def setHint(joinId: String, strategy: Strategy): Unit = hinted.update(joinId, strategy)

  def place(filter: PlacedFilter): Unit = placed.update(filter.filterId, filter)
  def filtersOf(joinId: String): Seq[PlacedFilter] = placed.valuesIterator.filter(_.joinId == joinId).toSeq.sortBy(_.filterId)

  /** Notes a filter node that has begun to run. The final plan is no place to look for it: a stage that is reused hides it, and one whose
    * rows the filter removed altogether is gone from the plan.
    */
  def start(node: RuntimeFilterExec): Unit = { val _ = started.add(node) }

  /** The filter nodes that ran, each once. */
  def startedFilters: Seq[RuntimeFilterExec] = started.asScala.toSeq

  /** When it was first noticed that the execution is over, on the clock of `nowNanos`: now, if it was not before. */
  private[observe] def overSince(nowNanos: Long): Long = {
    val _ = over.compareAndSet(None, Some(nowNanos))
    over.get.getOrElse(nowNanos)
  }

  /** True the first time it is asked. */
  def end(): Boolean = ended.compareAndSet(false, true)
}
