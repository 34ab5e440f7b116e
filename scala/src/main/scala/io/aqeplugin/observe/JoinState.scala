package io.aqeplugin.observe

import java.util.IdentityHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference, LongAdder}

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.FileIndex

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._
import io.aqeplugin.exec.RuntimeFilterExec

/** What is known of one join while its query runs.
  *
  * @param buildSide
  *   settled as soon as one side runs: if it flipped after that, what the other side waited for would be thrown away
  * @param probe
  *   the probe side as it was estimated before anything ran
  * @param waiting
  *   whether the probe side is held back, with the numbers
  */
final case class JoinState(
    joinId: String,
    kind: JoinKind,
    keys: Seq[String],
    buildSide: Side,
    probe: ProbeFacts,
    cluster: ClusterFacts,
    hint: Option[String],
    canBroadcast: Boolean,
    buildEstimate: BuildFacts,
    waiting: Option[WaitDecision]
)

/** What the rules of one query work with, read when it is planned first and kept until it ends. */
final case class QueryConf(mode: Mode, thresholds: Thresholds, cluster: ClusterFacts)

/** The memory of one SQL execution. AQE makes its plans anew after every stage; what was decided before stays decided here. Thread-safe:
  * subqueries of one execution are planned on threads of their own.
  */
final class QueryState(val executionId: Long) {
  private val joins = TrieMap.empty[String, JoinState]
  private val decisions = TrieMap.empty[String, JoinDecision]
  private val recorded = TrieMap.empty[String, Unit]
  private val declined = TrieMap.empty[String, (AnyRef, JoinDecision)]
  private val placed = TrieMap.empty[String, PlacedFilter]
  private val hinted = TrieMap.empty[String, Strategy]
  private val started = new ConcurrentLinkedQueue[RuntimeFilterExec]()
  private val ended = new AtomicBoolean()

  private val tables = new IdentityHashMap[FileIndex, Option[TableFacts]]()
  private val queryConf = new AtomicReference[Option[QueryConf]](None)

  /** What the rules work with, once it is known. */
  def conf: Option[QueryConf] = queryConf.get

  /** What the rules work with: what `first` gives when it is asked first. Reading every key anew at each re-plan would cost more than most decisions. */
  def confOnce(first: => QueryConf): QueryConf = queryConf.get.getOrElse {
    val made = first
    queryConf.set(Some(made))
    made
  }

  /** The mode the query is planned in. */
  def mode: Mode = conf.fold[Mode](Mode.Apply)(_.mode)

  /** Nanoseconds spent in our rules. */
  val ruleNanos = new LongAdder()

  /** Faults of our code while this query ran. */
  val errors = new LongAdder()

  def join(joinId: String): Option[JoinState] = joins.get(joinId)
  def joinOrElse(joinId: String)(first: => JoinState): JoinState = joins.getOrElseUpdate(joinId, first)

  def forget(joinId: String): Unit = { val _ = joins.remove(joinId) }

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

  /** Joins for which nothing but a refusal came about. */
  def undecided: Seq[JoinDecision] = declined.iterator.collect { case (id, (_, decision)) if !decisions.contains(id) => decision }.toSeq

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

  /** True the first time it is asked. */
  def end(): Boolean = ended.compareAndSet(false, true)
}

/** A filter as it was placed, or not placed, on one scan. */
final case class PlacedFilter(filterId: String, joinId: String, table: String, scanColumns: Seq[String], applied: Boolean, reason: Reason)

/** The states of the executions that run now. */
object QueryStates {
  private val states = TrieMap.empty[Long, QueryState]

  def of(executionId: Long): QueryState = states.getOrElseUpdate(executionId, new QueryState(executionId))
  def get(executionId: Long): Option[QueryState] = states.get(executionId)

  /** The state of the execution that the calling thread works for. */
  def current(sparkContext: SparkContext): Option[QueryState] =
    Option(sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).flatMap(_.toLongOption).flatMap(get)

  def remove(executionId: Long): Option[QueryState] = states.remove(executionId)
  def all: Seq[QueryState] = states.valuesIterator.toSeq
  def size: Int = states.size
}
