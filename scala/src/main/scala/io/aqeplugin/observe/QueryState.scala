package io.aqeplugin.observe

import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference, LongAdder}

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.conf.{ConfError, Mode, TrialArm}
import io.aqeplugin.decide._
import io.aqeplugin.metrics.{Faults, Survivable}

/** The state of one SQL execution. AQE re-plans after every stage; decisions are kept here. Thread-safe, because subqueries of one
  * execution are planned on separate threads.
  */
final class QueryState(val executionId: Long) {

  /** When the query was first planned, as `System.nanoTime`. */
  val startNanos: Long = System.nanoTime()

  private val names = new JoinNames
  private val joins = new JoinLives
  private val explainLines = new ConcurrentHashMap[String, ExplainLine]()
  private val predicates = ConcurrentHashMap.newKeySet[String]()
  private val started = new ConcurrentLinkedQueue[StartedFilters]()
  private val ended = new AtomicBoolean()
  private val endings = new ConcurrentLinkedQueue[() => Unit]()
  private val wrongConf = new AtomicReference[Option[ConfError]](None)
  private val over = new AtomicReference[Option[Long]](None)

  private val held = new LongAdder()
  private val hashed = new LongAdder()
  private val reads = new ConcurrentHashMap[AnyRef, QueryState.Read[_]]()
  private val agreed = new ConcurrentHashMap[AnyRef, Set[String]]()
  private val holds = new ConcurrentHashMap[QueryState.Hold, Int]()
  private val waits = new ConcurrentHashMap[String, Int]()
  private val builds = new ConcurrentHashMap[SparkPlan, SparkPlan]()
  private val passed = new AtomicReference(Vector.empty[PassedBy])
  private val looked = new AtomicBoolean()
  private val queryConf = new AtomicReference[Option[QueryConf]](None)

  /** The settings of the rules, once they are read. */
  def conf: Option[QueryConf] = queryConf.get

  /** The settings of the rules: the first call evaluates `first`. Reading every key at each re-plan would cost more than most decisions. */
  def confOnce(first: => QueryConf): QueryConf = queryConf.get.getOrElse {
    val made = first
    if (queryConf.compareAndSet(None, Some(made))) made else queryConf.get.getOrElse(made)
  }

  /** The mode in which the query is planned. */
  def mode: Mode = conf.fold[Mode](Mode.Apply)(_.mode)

  /** The query's arm; none without a canary. */
  def arm: Option[TrialArm] = conf.flatMap(_.arm)

  def origin: QueryOrigin = conf.fold(QueryOrigin.Unknown)(_.origin)

  /** Nanoseconds spent in the plugin's rules. */
  val ruleNanos = new LongAdder()

  /** Number of the plugin's faults during this query. */
  val errors = new LongAdder()

  /** What is wrong with the query's conf, for which it is left alone. */
  def badConf: Option[ConfError] = wrongConf.get

  /** Counts once that the query's conf is invalid; returns whether this was the first time. */
  def noteBadConf(error: ConfError): Boolean = {
    val first = wrongConf.compareAndSet(None, Some(error))
    if (first) errors.increment()
    first
  }

  /** The name of a join, under which everything else here and in events is kept. Equal joins of several plans of the query have one name,
    * so that they have one estimate and one decision, and the exchanges below them stay equal.
    */
  def nameOf(join: JoinId): String = names.of(firstOf(join))

  /** The name of a join that was met before. */
  def knownNameOf(join: JoinId): Option[String] = names.known(firstOf(join))

  private def firstOf(join: JoinId): JoinId = conf.fold(join)(_.plans.firstOf(join))

  /** The estimate of a join; none before the first one, or when it has to be made again. */
  def estimate(joinId: String): Option[JoinFacts] = joins(joinId).estimate

  /** The estimate of a join, made by `make` if there is none.
    *
    * @param sideRuns
    *   whether one side of the join has started
    */
  def estimateOnce(joinId: String, sideRuns: Boolean)(make: => JoinFacts): JoinFacts = {
    // The started side runs by the estimate that this call returns, so no other thread may drop it.
    val known = if (sideRuns) joins.change(joinId)(_.keepEstimate)._2 else joins(joinId)
    known.estimate.getOrElse {
      val made = make
      joins.change(joinId)(_.see(made, sideRuns))._2.estimate.getOrElse(made)
    }
  }

  /** Fixes the estimate of a join because one side has started. */
  def keepEstimate(joinId: String): Unit = { val _ = joins.change(joinId)(_.keepEstimate) }

  /** Adds to the estimate of an undecided join what other uses of its scans and its shuffle do. */
  def noteOtherUses(joinId: String, buildSide: Side, passRate: Option[Double], shuffleShare: Option[Double]): Unit = {
    val _ = joins.change(joinId)(_.seeOtherUses(buildSide, passRate, shuffleShare))
  }

  /** Drops the estimate of a join of which no side has started. */
  def forgetEstimate(joinId: String): Unit = { val _ = joins.change(joinId)(_.forgetEstimate) }

  /** The decision made from the measured build side. */
  def decision(joinId: String): Option[JoinDecision] = joins(joinId).decision

  /** The decision of a join, made by `decide` if there is none yet. */
  def decideOnce(joinId: String)(decide: => JoinDecision): JoinDecision = decision(joinId).getOrElse {
    val made = decide
    val (before, after) = joins.change(joinId)(_.decide(made, System.nanoTime()))
    if (before.decision.isEmpty)
      conf.foreach { known =>
        held.add(MemoryBudget.heldBy(made, known.thresholds))
        hashed.add(ShuffledHashChoice.heldBy(made, known.thresholds))
      }
    after.decision.getOrElse(made)
  }

  /** Bytes of the broadcasts and filters that the query holds by its decisions; none in mode observe, which carries none out. */
  def heldBytes: Long = if (conf.exists(_.mode == Mode.Apply)) held.sum else 0L

  /** Bytes that a task holds at most for the query's shuffled hash joins, all of which may be in one stage. */
  def hashedBytes: Long = hashed.sum

  /** The wait of a join's probe side, begun by `begin` if there is none; none if the join is decided. */
  def waitOnce(joinId: String)(begin: => JoinWait): Option[JoinWait] = {
    val begun = joins(joinId).begunWait
    if (begun.isDefined) begun else joins.change(joinId)(_.beginWait(begin))._2.begunWait
  }

  /** Changes the wait of a join's probe side, unless it is over; returns the wait. */
  def changeWait(joinId: String)(change: JoinWait => JoinWait): Option[JoinWait] = joins.change(joinId)(_.changeWait(change))._2.begunWait

  /** What is found once in the query, by the first `read` for an equal key. Of one key, each call is for the same type. */
  private[aqeplugin] def once[A](what: AnyRef)(read: => A): A =
    reads.computeIfAbsent(what, _ => new QueryState.Read(read)).asInstanceOf[QueryState.Read[A]].found

  def knowsTable(table: AnyRef): Boolean = reads.containsKey(Same(table))

  /** The facts of a scanned table, read once by `read`: listing the files of a large table takes time. Other tables do not wait for it.
    *
    * @param table
    *   the file index or the table of the scan
    */
  def tableFacts(table: AnyRef)(read: => Option[TableFacts]): Option[TableFacts] = once(Same(table))(read)

  /** The values that a scan's partition column has, found once by `read`: a catalog may have to list all partitions. */
  def partitionRange(column: ExprId)(read: => Option[(Long, Long)]): Option[(Long, Long)] = once(column)(read)

  /** New decisions to report, whose filters now have their scans; each is returned once. */
  def reportDecided(): Seq[JoinDecision] = joins.all.flatMap { case (id, _) => joins.change(id)(_.report)._1.unreportedDecision }

  /** Leaves a join alone for now and returns the decision with the reason. `decide` runs again only when `by` has changed, because most
    * joins of a large plan stay the same while AQE re-plans. The decision counts if no other is made until the query ends.
    */
  def leaveAloneOnce(joinId: String, by: AnyRef)(decide: => JoinDecision): JoinDecision =
    joins(joinId).leftAlone.filter(_.by == by) match {
      case Some(known) => known.decision
      case None        =>
        val decision = decide
        val _ = joins.change(joinId)(_.leaveAlone(JoinLife.LeftAlone(by, decision)))
        decision
    }

  /** The decisions made from measured build sides. */
  def decisions: Seq[JoinDecision] = joins.all.flatMap(_._2.decision)

  /** Records the scans that a join's keys reach in the plan that has it as `join`. */
  def noteScans(joinId: String, join: JoinId, scans: Seq[ReachedScan]): Unit = { val _ = joins.change(joinId)(_.reach(join, scans)) }

  /** Takes a sample if none was taken of the scan with these columns. */
  def sampleOnce(joinId: String, buildSide: Side, columns: Seq[ExprId])(
      rows: => Option[ProbeSample],
      files: => Option[ProbeFiles]
  ): Unit = {
    val taken = joins(joinId).samples.find(_.isOf(buildSide, columns)).getOrElse(TakenSample(buildSide, columns, rows, files))
    val _ = joins.change(joinId)(_.sample(taken))
  }

  /** The sample of a scan, or of the latest if its columns are not known. */
  def sampleOf(joinId: String, buildSide: Side, columns: Option[Seq[ExprId]]): Option[TakenSample] =
    joins(joinId).samples.find(taken => taken.isOf(buildSide, columns.getOrElse(taken.columns)))

  /** The share of the rows of a join's scans that the filters of the other decided joins leave: of those at least as selective as its own.
    */
  def leftByFilters(joinId: String, passRate: Double): Double = {
    val others = joins.all.filter { case (id, _) => id != joinId }.map(_._2)
    val filters = others.flatMap(life => life.decision.filter(made => made.buildFilter && made.passRate <= passRate).map(life -> _))
    ReachedScan.leftByOthers(
      joins(joinId).reached,
      filters.filterNot { case (life, _) => life.isRefused }.map { case (life, made) => life.reached -> made.passRate }
    )
  }

  /** Whether the joins of a plan of the query were worth a look: then those of all later plans are looked at. */
  def isLookedAt: Boolean = looked.get
  def look(): Unit = if (looked.compareAndSet(false, true)) passed.get.foreach { plan =>
    namePassed(plan)
    // AQE may go on with an older plan, whose line no longer holds.
    plan.line.tell(this, isWaiting = false)("")
  }

  /** Joins are named in the order in which they are met, also where they are passed by: a name must not depend on what is looked at. */
  private def namePassed(plan: PassedBy): Unit = plan.ids.foreach(nameOf)

  /** Whether stages of the query may run although its joins were not looked at. */
  def hasBegun: Boolean = passed.get.nonEmpty

  /** Notes a plan whose joins are not looked at, and returns what is kept: of its plans after each stage, the first counts. */
  def passBy(plan: PassedBy): PassedBy = {
    val columns = plan.columns
    def isKept(one: PassedBy) = one.columns == columns
    passed.updateAndGet(before => if (before.exists(isKept)) before else before :+ plan).find(isKept).getOrElse(plan)
  }

  /** The decisions of a plan whose joins are not looked at. */
  private def decisionsOf(plan: PassedBy): Seq[JoinDecision] =
    conf.toSeq.flatMap(known => plan.facts(nameOf).map(DecideJoin.decide(_, known.thresholds)))

  /** Leaves the joins alone that were never looked at. */
  private def leavePassed(): Unit = {
    passed.get.foreach(namePassed)
    for {
      plan <- passed.get
      decision <- decisionsOf(plan) if joins(decision.facts.joinId) eq JoinLife.Unseen
    } { val _ = leaveAloneOnce(decision.facts.joinId, plan.read)(decision) }
  }

  /** Ends the states of all joins and returns what is left to report; each decision is returned once. */
  def endJoins(): Seq[JoinDecision] = {
    leavePassed()
    val ran = startedFilters.flatMap(_.joinIds).toSet
    joins.all.flatMap { case (id, _) => joins.change(id)(_.end)._1.unreported(ran(id)) }
  }

  /** The joins whose filters may go into an exchange that several plans of the query run once; none as long as any may. */
  def allowedOn(exchange: AnyRef): Option[Set[String]] = Option(agreed.get(exchange))

  /** The joins whose filters go into such an exchange: at most those of the plan that asked first, and once the filters of a plan are
    * settled, at most those.
    *
    * @param exchange
    *   equal for the exchange in all plans
    * @param joinIds
    *   the joins whose filters the plan has for it
    * @param isSettled
    *   whether all of these are decided, so that the exchange may start
    */
  def agreeOn(exchange: AnyRef, joinIds: Set[String], isSettled: Boolean): Set[String] = {
    val allowed = agreed.merge(exchange, joinIds, (before, now) => if (isSettled) before.intersect(now) else before)
    allowed.intersect(joinIds)
  }

  /** Whether a filter is held back once more. */
  def mayHold(hold: QueryState.Hold): Boolean = holds.merge(hold, 1, _ + _) <= QueryState.MostHolds

  /** Whether a plan may wait once more for a join's filter that an engine checks. Each plan waits anew, and is followed by another when the
    * filter is built; if that is never seen, planning would not end.
    */
  def mayWait(joinId: String): Boolean = waits.merge(joinId, 1, _ + _) <= QueryState.MostWaits

  /** Notes what built a filter, for plans that need an equal one: AQE does not show them a stage that another plan of the query has run. */
  def noteBuild(canonical: SparkPlan, builder: SparkPlan): Unit = { val _ = builds.put(canonical, builder) }

  /** What has built filters by now, by the canonical form of all that is equal to it. */
  def buildsNow: Map[SparkPlan, SparkPlan] = builds.asScala.toMap

  def noteFilter(filter: PlacedFilter): Unit = { val _ = joins.change(filter.joinId)(_.noteFilter(filter)) }
  def filtersOf(joinId: String): Seq[PlacedFilter] = joins(joinId).filters.values.toSeq.sortBy(_.filterId)

  def explainLine(joinId: String): ExplainLine = explainLines.computeIfAbsent(joinId, _ => new ExplainLine)

  /** Records a predicate that was inferred across a join; returns whether this was the first time. */
  def notePredicate(predicate: String): Boolean = predicates.add(predicate)

  /** Records the filters of a scan that begins to run, once per scan. The final plan does not show all of them: a reused stage hides its
    * filters, and a stage that lost all its rows is no longer in the plan.
    */
  def rememberStarted(filters: StartedFilters): Unit = { val _ = started.add(filters) }

  private def startedFilters: Seq[StartedFilters] = started.asScala.toSeq

  /** The outcomes of all filters that ran, in stages and subqueries. Scans that never started have none. */
  def filterOutcomes: Seq[FilterOutcome] = startedFilters.flatMap(_.outcomes)

  /** What the filters of each join left of the rows of its scans, where they checked any. */
  def rowsLeft: Map[String, RowsLeft] = {
    val scans = startedFilters.map(of => RowsLeft.Scan(of.rows._1, of.rows._2, FilterOutcome.passed(of.outcomes)))
    val filters = filterOutcomes.filterNot(_.passesAll).groupBy(_.joinId)
    val isSound = filterFaults == 0
    // Of rows that were not read, only a good estimate and working filters on all scans say that these left them out.
    def expected(joinId: String): Option[Long] =
      for {
        found <- decision(joinId) if isSound
        probe = found.facts.probe if filters.get(joinId).exists(_.size >= probe.targets)
        source <- probe.scanRowsSource if !EstimateSource.Guesses(source)
      } yield probe.unfilteredScanRows
    RowsLeft.byJoin(scans, joinId => expected(joinId).getOrElse(0L))
  }

  /** Number of faults in the query's filters, met by tasks. */
  def filterFaults: Long = startedFilters.map(_.faults).sum

  /** When the end of the execution was first noticed, on the clock of `nowNanos`: now, if not before. */
  private[observe] def overSince(nowNanos: Long): Long = {
    val _ = over.compareAndSet(None, Some(nowNanos))
    over.get.getOrElse(nowNanos)
  }

  /** Runs `action` when the query ends, or at once if it has ended. */
  def atEnd(action: () => Unit): Unit = {
    val _ = endings.add(action)
    if (ended.get) runEndings()
  }

  /** True for the first caller only. */
  def end(): Boolean = {
    val isFirst = ended.compareAndSet(false, true)
    if (isFirst) runEndings()
    isFirst
  }

  @tailrec
  private def runEndings(): Unit = Option(endings.poll()) match {
    case Some(action) =>
      try action()
      catch { case Survivable(error) => Faults.note("end of a query", "what the query held may be freed later", error) }
      runEndings()
    case None =>
  }
}

object QueryState {

  /** Once is enough, unless a filter that the exchanges wait for was ready just before AQE saw its stage end. */
  private val MostHolds = 3

  /** Far more plans than queries have. */
  private val MostWaits = 200

  /** A filter that is held back while exchanges of its source start.
    *
    * @param columns
    *   those of the source, which tell one plan of the query from another
    * @param starting
    *   the exchanges in their canonical form
    */
  final case class Hold(joinId: String, columns: Seq[ExprId], starting: Set[SparkPlan])

  /** What is read when it is first asked for, outside the map. */
  final private class Read[A](read: => A) {
    lazy val found: A = read
  }
}
