package io.aqeplugin.rules

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, HashedRelationBroadcastMode, SortMergeJoinExec}
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide.{ClusterFacts, Reason, ReasonCode, Side, Thresholds}
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.exec.BuildRecord
import io.aqeplugin.observe.{ClusterSeen, FoundJoin, JoinFinder, QueryState}
import io.aqeplugin.place.{JoinSite, ReuseGuard}

/** One query may have several plans of one join: subqueries are planned on separate threads, and dynamic partition pruning plans a build
  * side a second time.
  */
class JoinOfTwoPlansSuite extends AnyFunSuite with PluginSession {
  import JoinOfTwoPlansSuite._

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v FROM range(300)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, 'd' || id AS name FROM range(4)")
  }

  private def sortMerge(query: String): SparkPlan =
    withConf("spark.aqePlugin.mode" -> "off", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      spark.sql(query).queryExecution.executedPlan match {
        case adaptive: AdaptiveSparkPlanExec => adaptive.initialPlan
        case other                           => fail(s"not adaptive: $other")
      }
    }

  /** The join with its right side broadcast. */
  private def broadcast(plan: SparkPlan): SparkPlan = plan.transformUp { case join: SortMergeJoinExec =>
    val right = BroadcastExchangeExec(HashedRelationBroadcastMode(join.rightKeys), belowExchange(join.right))
    BroadcastHashJoinExec(join.leftKeys, join.rightKeys, join.joinType, BuildRight, join.condition, belowExchange(join.left), right)
  }

  private def belowExchange(plan: SparkPlan): SparkPlan =
    plan.collectFirst { case exchange: ShuffleExchangeLike => exchange.child }.getOrElse(fail(s"no shuffle in $plan"))

  private def site(join: FoundJoin, buildSide: Side, guard: ReuseGuard): JoinSite =
    JoinSite.judged(JoinSite.reach(join, buildSide), join, buildSide, guard)

  private def joinOf(plan: SparkPlan): FoundJoin = JoinFinder.find(plan).headOption.getOrElse(fail(s"no join in $plan"))

  private def context(state: QueryState): RuleContext =
    RuleContext(
      spark.sparkContext,
      state,
      Mode.Apply,
      Thresholds.Default.updated(AqeConf.TestOpenGates, true),
      new ClusterSeen(ClusterFacts(2, 1))
    )

  private def filtered(state: QueryState, plan: SparkPlan): Seq[String] =
    new WantedFilters(plan, context(state)).all.map(_.request.target.columns.map(_.name).mkString(","))

  private val LeftJoin = "SELECT * FROM fact LEFT JOIN dim ON k = dk"

  test("a side whose rows are all kept gets no filter, whatever the build side") {
    val join = joinOf(sortMerge(LeftJoin))
    val guard = new ReuseGuard(join.node)
    val legal = site(join, Side.Left, guard)
    assert(legal.targets.map(_.columns.map(_.name)) == Seq(Seq("dk")))
    val illegal = site(join, Side.Right, guard)
    assert(illegal.targets.isEmpty)
    assert(illegal.obstacle.contains(ReasonCode.JoinType))
    assert(illegal.refused.map { case (target, code) => target.columns.map(_.name) -> code } == Seq(Seq("k") -> ReasonCode.JoinType))
  }

  test("concurrent plans of a join use one build side and filter the other") {
    val shuffled = sortMerge(LeftJoin)
    val state = new QueryState(1L)
    // The first plan asks for a table's size when it first sees its join; there, the second plan overtakes it.
    val overtaken = broadcast(shuffled).transformUp { case scan: FileSourceScanExec =>
      scan.copy(relation =
        scan.relation.copy(location =
          new Hooked(
            scan.relation.location,
            () => if (state.estimate(state.nameOf(joinOf(shuffled).id)).isEmpty) inAnotherThread { val _ = filtered(state, shuffled) }
          )
        )(scan.relation.sparkSession)
      )
    }
    assert(joinOf(overtaken).id == joinOf(shuffled).id)
    assert(filtered(state, overtaken).forall(_ == "dk"), "a filter on the side whose rows are all kept")
    assert(state.estimate(state.nameOf(joinOf(shuffled).id)).map(_.buildSide).contains(Side.Left))
  }

  test("a join that runs in one plan keeps its estimate in another where it does not") {
    val initial = sortMerge("SELECT * FROM fact JOIN dim ON k = dk")
    val running = initial.transformUp {
      case exchange: ShuffleExchangeExec if isBy(exchange, "dk") => ShuffleQueryStageExec(0, exchange, exchange.canonicalized)
    }
    val state = new QueryState(1L)
    assert(filtered(state, running) == Seq("k"))
    val id = state.nameOf(joinOf(initial).id)
    val known = state.estimate(id)
    assert(known.isDefined)
    assert(filtered(state, initial) == Seq("k"))
    assert(known.zip(state.estimate(id)).exists { case (before, after) => before eq after }, "a state made anew")
  }

  test("a join that runs in no plan is estimated again") {
    val plan = sortMerge("SELECT * FROM fact JOIN dim ON k = dk")
    val state = new QueryState(1L)
    val _ = filtered(state, plan)
    val known = state.estimate(state.nameOf(joinOf(plan).id))
    val _ = filtered(state, plan)
    assert(known.zip(state.estimate(state.nameOf(joinOf(plan).id))).exists { case (before, after) => before ne after })
  }

  test("a filter that was built twice is not requested again, with a reason") {
    val halfDone = withFinishedDim()
    val state = new QueryState(1L)
    assert(filtered(state, halfDone) == Seq("k"))
    val (stage, keys) = finished(halfDone)
    BuildRecord.note(stage, keys, None, Left(Reason(ReasonCode.BuildTimeout)))
    assert(filtered(state, halfDone) == Seq("k"))
    BuildRecord.note(stage, keys, None, Left(Reason(ReasonCode.BuildTimeout)))
    assert(filtered(state, halfDone) == Nil)
    val told =
      state.filtersOf(state.nameOf(joinOf(halfDone).id)).map(filter => filter.scanColumns -> (filter.applied -> filter.reason.code))
    assert(told == Seq(Seq("k") -> (false -> ReasonCode.RepeatedRequest)))
  }

  test("a filter that is finished while a plan is made is known in all of the plan or in none") {
    val halfDone = withFinishedDim()
    val (stage, keys) = finished(halfDone)
    BuildRecord.prepare(stage)
    val ofOnePlan = new BuildRecord.Reading
    assert(ofOnePlan.get(stage, keys, None).isEmpty)
    BuildRecord.note(stage, keys, None, Left(Reason(ReasonCode.BuildTimeout)))
    assert(ofOnePlan.get(stage, keys, None).isEmpty)
    assert(new BuildRecord.Reading().get(stage, keys, None).map(_.times).contains(1))
  }

  /** The plan of the two tables' join with the shuffle of `dim` finished. */
  private def withFinishedDim(): SparkPlan = {
    val query = spark.sql("SELECT * FROM fact JOIN dim ON k = dk")
    withConf("spark.aqePlugin.mode" -> "off", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val _ = query.collect()
      query.queryExecution.executedPlan match {
        case adaptive: AdaptiveSparkPlanExec =>
          val stage = collect(adaptive) { case stage: ShuffleQueryStageExec if isBy(stage.shuffle, "dk") => stage }.head
          adaptive.initialPlan.transformUp { case exchange: ShuffleExchangeExec if isBy(exchange, "dk") => stage }
        case other => fail(s"not adaptive: $other")
      }
    }
  }

  private def finished(plan: SparkPlan): (QueryStageExec, Seq[Expression]) =
    site(joinOf(plan), Side.Right, new ReuseGuard(plan)).finishedStage.getOrElse(fail(s"no finished stage in $plan"))

  private def isBy(exchange: ShuffleExchangeLike, column: String): Boolean = exchange.outputPartitioning match {
    case HashPartitioning(keys, _) => keys.exists(_.references.exists(_.name == column))
    case _                         => false
  }

  private def inAnotherThread(body: => Unit): Unit = {
    val thread = new Thread(() => body)
    thread.start()
    thread.join()
  }
}

object JoinOfTwoPlansSuite {

  /** An index that runs an action before it returns its size. */
  private final class Hooked(index: FileIndex, before: () => Unit) extends FileIndex {
    override def rootPaths: Seq[Path] = index.rootPaths
    override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
      index.listFiles(partitionFilters, dataFilters)
    override def inputFiles: Array[String] = index.inputFiles
    override def refresh(): Unit = index.refresh()
    override def sizeInBytes: Long = { before(); index.sizeInBytes }
    override def partitionSchema: StructType = index.partitionSchema
  }
}
