package io.aqeplugin.place

import java.util.{Collections, IdentityHashMap}

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, FullOuter, LeftAnti, LeftOuter, RightOuter}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanExecBase
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.{BaseJoinExec, CartesianProductExec}

import io.aqeplugin.exec.RuntimeFilterExec
import io.aqeplugin.observe.{JoinKey, Total}
import io.aqeplugin.storage.{CacheScan, HiveScan, NumberedRows, ScanAdapter}

/** A place where rows without a partner can be dropped: a scan that the keys of a join reach, or the input of an exchange if they reach no
  * scan below it that has not started.
  *
  * @param node
  *   the scan, or the operator below the exchange
  * @param keys
  *   the keys, each a column of the node or an expression of one, in the order of the join's keys
  * @param above
  *   the operators between the node and the join, starting with that above the node
  * @param wholeGroups
  *   whether a filter must treat all rows with one key alike: an aggregate or a window above the node makes groups of them, and what is
  *   computed from a part of a group may fail
  * @param exits
  *   the inputs of the exchanges above, the lowest first
  * @param beside
  *   the left sides of anti joins that have the node below their right sides: as long as their rows do not meet the filter too, there would be more
  *   rows above the joins ([[FilterTargets.meets]])
  * @param isBelowUnion
  *   whether a union is among the operators above
  */
final case class FilterTarget(
    node: SparkPlan,
    keys: Seq[Expression],
    above: List[SparkPlan],
    wholeGroups: Boolean,
    isScan: Boolean = true,
    exits: Seq[FilterTargets.Exit] = Nil,
    beside: Seq[SparkPlan] = Nil,
    isBelowUnion: Boolean = false
) {

  /** The node, or the scan below the rows that a command has numbered. */
  lazy val scan: SparkPlan = NumberedRows.readBy(node)

  /** The column that each key reads. */
  def columns: Seq[Attribute] = keys.map(JoinKey.columnOf)

  /** Number of keys that are not columns themselves. */
  def computedKeys: Int = keys.count(!_.isInstanceOf[Attribute])

  /** The exchanges among the operators above, starting with that of the node's own stage. */
  lazy val exchanges: Seq[Exchange] =
    (if (isScan) Nil else above.take(1).collect { case own: Exchange => own }) ++ exits.map(_.exchange)

  /** Whether a filter checks every row. One that pauses goes by the rows before, and a task that runs again may get them in another order:
    * of that, Spark's checksums of shuffles would see a difference.
    */
  def checksAll: Boolean = wholeGroups || !FilterTargets.readsInOrder(node)
}

object FilterTargets {

  /** All targets below `probe` that `keys`, expressions over its output, lead to. Finished stages are not entered: they have run.
    *
    * @param total
    *   whether everything that the join evaluates on rows whose keys are outside the filter has a value for every row
    */
  def below(probe: SparkPlan, keys: Seq[Expression], total: Boolean = true): Seq[FilterTarget] =
    search(probe, keys, Path(Nil, () => total, wholeGroups = false), Nil)

  /** What lies between the join and a node below it.
    *
    * @param operators
    *   those between, the lowest first
    * @param isTotal
    *   whether everything that they compute has a value for every row, which few paths ask
    * @param wholeGroups
    *   whether one of them makes groups of the rows with one key that must be kept or dropped as a whole
    * @param exits
    *   the inputs of the exchanges among them, the lowest first
    * @param beside
    *   as of a target, like the next
    */
  private[place] final case class Path(
      operators: List[SparkPlan],
      isTotal: () => Boolean,
      wholeGroups: Boolean,
      exits: List[Exit] = Nil,
      beside: Seq[SparkPlan] = Nil,
      isBelowUnion: Boolean = false
  ) {
    lazy val total: Boolean = isTotal()

    def under(plan: SparkPlan): Path = copy(
      plan :: operators,
      () => total && Lineage.evaluated(plan).forall(Total(_)),
      isBelowUnion = isBelowUnion || plan.isInstanceOf[UnionExec]
    )

    private[FilterTargets] def target(node: SparkPlan, keys: Seq[Expression], isScan: Boolean): FilterTarget =
      FilterTarget(node, keys, operators, wholeGroups, isScan, exits, beside, isBelowUnion)
  }

  /** The input of an exchange, which the keys reach. */
  final class Exit private[FilterTargets] (val exchange: Exchange, node: SparkPlan, keys: Seq[Expression], path: Path) {

    /** The input as a target. A key that cannot be computed would let more rows pass in one run of a task than in another. */
    lazy val target: Option[FilterTarget] =
      if (isScan(node) || !isCoalescedAsOne(node) || isWithinOneNode) None
      else
        for (ofNode <- keysOf(node, keys) if ofNode.forall(Total(_)))
          yield path.target(node, ofNode, isScan = false)

    /** Whether the exchange is inside what Spark made of one logical node, as of an aggregate with `DISTINCT`, above another exchange that has
      * not run. When that starts, AQE marks all that it finds below the node as the node's, and would mark the filter's source too. Operators
      * that Spark inserts between, such as a sort, have no logical node and are skipped.
      */
    private def isWithinOneNode: Boolean = {
      val above = path.operators.drop(1).flatMap(_.logicalLink).headOption
      above.exists(one => node.logicalLink.exists(_ eq one)) && ofStage(node).exists(_.isInstanceOf[Exchange])
    }
  }

  /** The targets, in front of those further right: a long list is not copied at each operator. */
  private def search(plan: SparkPlan, keys: Seq[Expression], path: Path, right: List[FilterTarget]): List[FilterTarget] = plan match {
    case filtered: RuntimeFilterExec => search(filtered.child, keys, path, right)
    case scan if isScan(scan)        =>
      val found = if (isCoalescedAsOne(scan)) keysOf(scan, keys) else None
      found.filter(_.forall(Total(_)) || !path.wholeGroups && readsInOrder(scan))
        .fold(right)(path.target(scan, _, isScan = true) :: right)
    case exchange: Exchange => Lineage.steps(exchange, keys).foldRight(right) { (step, others) =>
        val inside = path.under(exchange)
        val exit = new Exit(exchange, step.child, step.keys, inside)
        val reached = search(step.child, step.keys, inside.copy(exits = exit :: inside.exits), others)
        if (reached ne others) reached else exit.target.fold(others)(_ :: others)
      }
    case other => descend(other, keys, path, right)
  }

  /** Whether AQE coalesces the partitions of all shuffles that the operators of one stage read alike, or there is nothing to coalesce. The
    * inputs of a union it coalesces one by one, unless an operator like the filter is above.
    */
  private def isCoalescedAsOne(plan: SparkPlan): Boolean = {
    val own = ofStage(plan)
    !own.exists(_.isInstanceOf[UnionExec]) && !own.exists(_.isInstanceOf[CartesianProductExec]) ||
    !own.exists(node => node.isInstanceOf[ShuffleExchangeLike] || node.isInstanceOf[ShuffleQueryStageExec])
  }

  /** The operators of one stage, with the exchanges below it. */
  private def ofStage(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case below @ (_: Exchange | _: QueryStageExec) => Seq(below)
    case other                                     => other +: other.children.flatMap(ofStage)
  }

  /** The keys over the columns of `plan`, if it has all of them. */
  private def keysOf(plan: SparkPlan, keys: Seq[Expression]): Option[Seq[Expression]] =
    Some(JoinKey.all(keys).toOption.toSeq.flatten.flatMap(keyOf(plan, _))).filter(_.size == keys.size)

  /** A key over the node's own attribute: a query may spell a column's name in a different case than the files. */
  private def keyOf(node: SparkPlan, key: JoinKey): Option[Expression] =
    node.output.find(_.exprId == key.column.exprId).map(column =>
      if (key.isComputed) key.expression.transform { case _: Attribute => column } else column
    )

  /** Into the children that the keys reach, as long as dropping rows there cannot make anything fail: rows that would not be there are met by
    * total expressions alone, and so are parts of a group, unless the filter keeps groups whole.
    */
  private def descend(plan: SparkPlan, keys: Seq[Expression], path: Path, right: List[FilterTarget]): List[FilterTarget] = {
    lazy val below = path.under(plan)
    def mayHaveNewRows = !path.wholeGroups && path.total
    val (sure, more) = Lineage.steps(plan, keys).partition(_.effect != Lineage.MoreRows)
    def reached(last: List[FilterTarget]) = sure.foldRight(last) { (step, others) =>
      step.effect match {
        case Lineage.Fewer                      => search(step.child, step.keys, below, others)
        case Lineage.SomeOfAKey                 => if (path.wholeGroups) others else search(step.child, step.keys, below, others)
        case Lineage.NewRows | Lineage.MoreRows => if (mayHaveNewRows) search(step.child, step.keys, below, others) else others
        case Lineage.FewerGroups(computed)      =>
          val partsMayFail = !path.total || !computed.forall(Total(_))
          search(step.child, step.keys, below.copy(wholeGroups = path.wholeGroups || partsMayFail), others)
      }
    }
    if (more.isEmpty || !mayHaveNewRows) reached(right)
    else {
      val found = reached(Nil)
      val left = sure.map(_.child)
      // What has started is not entered, but may have the filter.
      def mayMeet(side: SparkPlan) =
        meets(side)(node => node.isInstanceOf[QueryStageExec] || found.exists(_.node eq node))
      def beside = below.copy(beside = path.beside ++ left)
      if (!left.exists(mayMeet)) found ::: right
      else found ::: more.foldRight(right)((step, others) => search(step.child, step.keys, beside, others))
    }
  }

  /** Whether each row of a plan has passed an operator for which `drops` holds, by itself or as a row that it is not joined without. */
  private[place] def meets(plan: SparkPlan)(drops: SparkPlan => Boolean): Boolean = drops(plan) || (plan match {
    case union: UnionExec   => union.children.forall(meets(_)(drops))
    case join: BaseJoinExec => join.joinType match {
        case LeftOuter | LeftAnti | _: ExistenceJoin => meets(join.left)(drops)
        case RightOuter                              => meets(join.right)(drops)
        case FullOuter                               => join.children.forall(meets(_)(drops))
        case _                                       => join.children.exists(meets(_)(drops))
      }
    case other => other.children.exists(meets(_)(drops))
  })

  /** One scan for each input of a union. Scans that meet at a join hold equal keys there, so the first stands for all of them. */
  def ofUnion(targets: Seq[FilterTarget]): Seq[FilterTarget] =
    if (!targets.exists(_.isBelowUnion)) targets.take(1)
    else
      targets.foldLeft(Vector.empty[FilterTarget]) { (kept, next) =>
        if (kept.forall(lowestAbove(_, next).exists(_.isInstanceOf[UnionExec]))) kept :+ next else kept
      }

  /** Each operator between a join and its targets, with the one below it, from the join down. Those above a target are looked at from the target
    * up, until one is known: then so are all above it.
    */
  def steps(targets: Seq[FilterTarget]): Seq[(SparkPlan, SparkPlan)] = {
    val known = Collections.newSetFromMap(new IdentityHashMap[SparkPlan, java.lang.Boolean])
    @tailrec
    def up(above: List[SparkPlan], child: SparkPlan, found: List[(SparkPlan, SparkPlan)]): List[(SparkPlan, SparkPlan)] = above match {
      case operator :: further =>
        val steps = (operator, child) :: found
        if (known.add(operator)) up(further, operator, steps) else steps
      case Nil => found
    }
    targets.flatMap(target => up(target.above, target.node, Nil))
  }

  private def lowestAbove(one: FilterTarget, other: FilterTarget): Option[SparkPlan] =
    one.above.find(operator => other.above.exists(_ eq operator))

  /** Whether a task that runs again reads its rows in the same order. What a database, an RDD or a shuffle below objects gives may come in any. */
  private[place] def readsInOrder(scan: SparkPlan): Boolean = scan match {
    case _: LocalTableScanExec | _: RangeExec => true
    case other                                => ScanAdapter.readsSameFiles(other)
  }

  /** Leaves that read data and whose rows can be dropped without changing anything else, or such a leaf below [[NumberedRows]]. */
  def isScan(plan: SparkPlan): Boolean = plan match {
    case _: FileSourceScanExec | _: RowDataSourceScanExec => true
    case scan: DataSourceV2ScanExecBase                   =>
      !scan.isInstanceOf[datasources.v2.MicroBatchScanExec] && !scan.isInstanceOf[datasources.v2.ContinuousScanExec]
    case _: RDDScanExec | _: LocalTableScanExec | _: RangeExec | _: SerializeFromObjectExec => true
    case other => HiveScan.isOne(other) || CacheScan.of(other).isDefined || NumberedRows.scanOf(other).isDefined
  }
}
