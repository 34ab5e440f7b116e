package io.aqeplugin.rules

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{InputAdapter, SortExec, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, AdaptiveSparkPlanExec, LogicalQueryStage, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.{BaseJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide._
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.observe._
import io.aqeplugin.place.{JoinSite, ReuseGuard}

/** A join whose build stage has finished is decided in the logical plan or in the physical one, whichever Spark comes to first. */
class FinishedJoinSuite extends AnyFunSuite with PluginSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, id AS v FROM range(3000)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, 'd' || id AS name, id % 7 AS n FROM range(40)")
  }

  private val Builds = Seq(
    "a table" -> "SELECT dk, name FROM dim WHERE n < 5",
    "an aggregate" -> "SELECT dk, max(name) AS name FROM dim GROUP BY dk",
    "an aggregate that computes strings" -> "SELECT dk, repeat(max(name), 9) AS name FROM dim GROUP BY dk"
  )

  for (
    (what, build) <- Builds;
    (threshold, strategy) <- Seq("1" -> Strategy.PlainSortMerge, "10m" -> Strategy.Broadcast);
    mode <- Seq(Mode.Apply, Mode.Observe)
  )
    test(s"both plans give the same facts: $what, threshold $threshold, mode ${mode.name}") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> threshold, "spark.aqePlugin.mode" -> "off") {
        val planned = new Planned(halfDone(s"SELECT * FROM fact JOIN ($build) d ON k = dk"), mode)
        import planned.{estimate, join, logical, site}
        val ofLogical =
          EqualityJoin.of(logical).flatMap(FinishedJoin.of(_, Side.Right)).flatMap(_.facts(estimate, mode, TableStatistics.None))
        val ofPhysical = FinishedJoin.of(join, Side.Right, site).flatMap(_.facts(estimate, mode, TableStatistics.None))
        assert(ofLogical.map(_.sparkStrategy).contains(strategy))
        assert(ofLogical == ofPhysical)
        assert(EqualityJoin.of(logical).map(_.id).contains(join.id))
      }
    }

  for ((by, exchanges) <- Seq("dk" -> 0, "dk, name" -> 1))
    test(s"a build side that is grouped by $by needs $exchanges more shuffles for a join on dk") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m", "spark.aqePlugin.mode" -> "off") {
        val done = halfDone(s"SELECT * FROM fact JOIN (SELECT dk, count(*) AS c FROM dim GROUP BY $by) d ON k = dk")
        val planned = new Planned(done.copy(right = beforeItsShuffle(done.right)))
        import planned.{estimate, logical}
        val facts =
          EqualityJoin.of(logical).flatMap(FinishedJoin.of(_, Side.Right)).flatMap(_.facts(estimate, Mode.Apply, TableStatistics.None))
        assert(facts.map(_.build.exchanges).contains(exchanges))
      }
    }

  for (
    (hint, threshold, strategy) <- Seq[(JoinStrategyHint, String, Strategy)](
      (SHUFFLE_HASH, "10m", Strategy.ShuffledHash),
      (NO_BROADCAST_HASH, "10m", Strategy.Broadcast)
    ) ++ ThisSparkLine.preferredHash.toSeq.flatMap(hint => Seq((hint, "1", Strategy.ShuffledHash), (hint, "10m", Strategy.Broadcast)))
  )
    test(s"with AQE's hint ${hint.displayName} and threshold $threshold, Spark chooses ${strategy.name}") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> threshold, "spark.aqePlugin.mode" -> "off") {
        val bySize = new Planned(halfDone("SELECT * FROM fact JOIN dim ON k = dk"))
        val logical = bySize.logical.copy(hint = JoinHint(None, Some(HintInfo(strategy = Some(hint)))))
        val hinted = new Planned(logical)
        val ofLogical = EqualityJoin.of(logical).flatMap(FinishedJoin.of(
          _,
          Side.Right
        )).flatMap(_.facts(bySize.estimate, Mode.Apply, TableStatistics.None))
        val ofPhysical =
          FinishedJoin.of(hinted.join, Side.Right, hinted.site).flatMap(_.facts(bySize.estimate, Mode.Apply, TableStatistics.None))
        assert(ofLogical.map(_.sparkStrategy).contains(strategy))
        assert(ofLogical == ofPhysical)
        val ofAuthor = bySize.estimate.copy(hint = Some("MERGE"))
        val authors = FinishedJoin.of(hinted.join, Side.Right, hinted.site).flatMap(_.facts(ofAuthor, Mode.Apply, TableStatistics.None))
        assert(authors.map(_.sparkStrategy).contains(ofAuthor.sparkStrategy))
      }
    }

  for (
    (hint, strategy, method) <- Seq(
      (SHUFFLE_MERGE, Strategy.PlainSortMerge, Method.SortMerge),
      (SHUFFLE_HASH, Strategy.ShuffledHash, Method.ShuffledHash)
    )
  )
    test(s"with the author's hint ${hint.displayName}, a filter is priced for two shuffles, however small the build side is") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m", "spark.aqePlugin.mode" -> "off") {
        def facts(hints: JoinHint, author: Option[String]): JoinFacts = {
          val planned = new Planned(halfDone("SELECT * FROM fact JOIN dim ON k = dk").copy(hint = hints))
          FinishedJoin.of(planned.join, Side.Right, planned.site).flatMap(
            // An author's hint is known before the stage is there.
            _.facts(planned.estimate.copy(hint = author, sparkStrategy = strategy), Mode.Apply, TableStatistics.None)
          ).getOrElse(fail("no facts"))
        }
        assert(facts(JoinHint.NONE, author = None).sparkMethod == Method.Broadcast)
        assert(facts(JoinHint(None, Some(HintInfo(strategy = Some(hint)))), Some(hint.displayName)).sparkMethod == method)
      }
    }

  test("no filter is decided for scans that another join shares since the estimate") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "1", "spark.aqePlugin.mode" -> "off") {
      val planned = new Planned(halfDone("SELECT * FROM fact JOIN dim ON k = dk"))
      assert(planned.site.targets.nonEmpty)
      val shared = planned.site.refuseAll(ReasonCode.ReusedExchange)
      val facts =
        FinishedJoin.of(
          planned.join,
          Side.Right,
          shared
        ).flatMap(_.facts(planned.estimate, Mode.Apply, TableStatistics.None)).getOrElse(fail("no facts"))
      val decision = DecideJoin.decide(facts, Thresholds.Default.updated(AqeConf.TestOpenGates, true))
      assert((decision.buildFilter, decision.filterReason.code) == (false -> ReasonCode.ReusedExchange))
      assert(facts.probe.targets == 0)
    }
  }

  test("a side has started when the stage has that its own semi join reads") {
    val query = "SELECT * FROM fact JOIN (SELECT dk FROM dim LEFT SEMI JOIN fact f ON dk = f.k) d ON k = dk"
    val plan = withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.mode" -> "off") {
      spark.sql(query).queryExecution.executedPlan match {
        case adaptive: AdaptiveSparkPlanExec => adaptive.initialPlan
        case other                           => fail(s"not adaptive: $other")
      }
    }
    def withStage(column: String): SparkPlan = plan.transformUp {
      case exchange: ShuffleExchangeExec if exchange.output.map(_.name) == Seq(column) =>
        ShuffleQueryStageExec(0, exchange, exchange.canonicalized)
    }
    def hasStarted(plan: SparkPlan): Boolean =
      plan.collectFirst { case join: SortMergeJoinExec if join.joinType == Inner => join }
        .flatMap(JoinFinder.of).map(FinishedJoin.hasStarted).getOrElse(fail(s"no join in\n$plan"))
    assert((hasStarted(plan), hasStarted(withStage("dk")), hasStarted(withStage("k"))) == ((false, true, false)), plan)
  }

  private final class Planned(val logical: Join, mode: Mode = Mode.Apply) {
    val physical: SparkPlan = spark.sessionState.planner.plan(logical).next()
    val join: FoundJoin = JoinFinder.find(physical).headOption.getOrElse(fail(s"no join in $physical"))
    val site: JoinSite = JoinSite.judged(JoinSite.reach(join, Side.Right), join, Side.Right, new ReuseGuard(physical))
    private val context = RuleContext(spark.sparkContext, new QueryState(1L), mode, Thresholds.Default, new ClusterSeen(ClusterFacts(2, 1)))
    lazy val estimate: JoinFacts =
      new JoinEstimator(physical, context, newSizes, newSizes, new PlannedWaits, (_, _) => Nil).estimate(join, Side.Right, site)
    private def newSizes: SizeEstimator = new SizeEstimator(0.2, TableStatistics.None)
  }

  /** The join of a query, as AQE plans it anew when its right side's stage has finished. */
  private def halfDone(query: String): Join = {
    val execution = withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val frame = spark.sql(query)
      val _ = frame.collect()
      frame.queryExecution
    }
    val logical = execution.optimizedPlan.collectFirst { case join: Join => join }.getOrElse(fail("no join"))
    val ran = collect(execution.executedPlan) { case join: BaseJoinExec => join }.headOption.getOrElse(fail("no join"))
    logical.copy(right = LogicalQueryStage(logical.right, bare(ran.right)), hint = JoinHint.NONE)
  }

  /** A build side when the stage of its aggregate has finished, and that of its join has not run, if it needs one. */
  private def beforeItsShuffle(side: LogicalPlan): LogicalPlan = side match {
    case LogicalQueryStage(of, stage: ShuffleQueryStageExec) => LogicalQueryStage(of, bare(stage.shuffle.child))
    case other                                               => other
  }

  /** What AQE keeps of a plan that has run. */
  private def bare(plan: SparkPlan): SparkPlan = plan.transformUp {
    case WholeStageCodegenExec(child) => child
    case InputAdapter(child)          => child
    case AQEShuffleReadExec(child, _) => child
    case SortExec(_, _, child, _)     => child
  }
}
