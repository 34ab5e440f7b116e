package io.aqeplugin.place

import org.apache.spark.sql.catalyst.expressions.{Attribute, BloomFilterMightContain, DynamicPruning, Expression}
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec

import io.aqeplugin.decide.{Reason, ReasonCode, Side}
import io.aqeplugin.filters.RangeBounds
import io.aqeplugin.observe.{FoundJoin, JoinRange, PlainKey}

/** Where the filter of a join can come from and where it can go.
  *
  * @param source
  *   the build side's exchange or stage, with the join keys among its columns
  * @param targets
  *   scans that the keys reach and that may get a filter
  * @param refused
  *   scans that the keys reach but that may get no filter, with the reason
  * @param obstacle
  *   why no filter is possible at all
  * @param bounds
  *   how the source's columns bound the scan's column; none if they equal the scan's columns
  */
final case class JoinSite(
    source: Option[(SparkPlan, Seq[Attribute])],
    targets: Seq[ScanTarget],
    refused: Seq[(ScanTarget, ReasonCode)],
    obstacle: Option[ReasonCode],
    bounds: Option[RangeBounds] = None
) {

  /** The build side's stage, once it has finished. */
  def finishedStage: Option[(QueryStageExec, Seq[Attribute])] = source.collect {
    case (stage: QueryStageExec, keys) if stage.isMaterialized => (stage, keys)
  }

  /** The site without targets: all of them refused for `code`. */
  def refuseAll(code: ReasonCode): JoinSite =
    copy(targets = Nil, refused = refused ++ targets.map(target => (target, code)), obstacle = Some(code))
}

object JoinSite {

  def of(join: FoundJoin, buildSide: Side, guard: ReuseGuard): JoinSite =
    join.range.fold(ofKeys(join, buildSide, guard))(ofRange(join, _, guard))

  private def ofRange(join: FoundJoin, range: JoinRange, guard: ReuseGuard): JoinSite = {
    val build = join.child(range.buildSide)
    // A finished relation says at once what the range is worth, so it comes before a shuffle below it.
    val source =
      if (JoinRange.isFinishedBroadcast(build)) ScanTargets.named(build, range.build) else ScanTargets.buildExchange(build, range.build)
    source match {
      case _ if range.obstacle.isDefined                => JoinSite(source, Nil, Nil, range.obstacle)
      case None                                         => JoinSite(None, Nil, Nil, Some(ReasonCode.NoBuildExchange))
      case Some((exchange, _)) if !Repeatable(exchange) => JoinSite(source, Nil, Nil, Some(ReasonCode.NonDeterministic))
      case _ => withTargets(join.child(range.buildSide.other), Seq(range.probe), source, guard).copy(bounds = Some(range.bounds))
    }
  }

  private def ofKeys(join: FoundJoin, buildSide: Side, guard: ReuseGuard): JoinSite = {
    val buildKeys = join.keys(buildSide)
    val probeKeys = join.keys(buildSide.other)
    val plain = for {
      build <- PlainKey.all(buildKeys)
      probe <- PlainKey.all(probeKeys)
      _ <- Either.cond(build.map(_.kind) == probe.map(_.kind), (), Reason(ReasonCode.KeyNotPlain))
    } yield ()
    val source = ScanTargets.buildExchange(join.child(buildSide), buildKeys)
    plain match {
      case Left(reason) => JoinSite(source, Nil, Nil, Some(reason.code))
      case Right(())    =>
        source match {
          case None                                         => JoinSite(None, Nil, Nil, Some(ReasonCode.NoBuildExchange))
          case Some((exchange, _)) if !Repeatable(exchange) => JoinSite(source, Nil, Nil, Some(ReasonCode.NonDeterministic))
          case _                                            =>
            val site = withTargets(join.child(buildSide.other), probeKeys, source, guard)
            if (join.kind.mayFilter(buildSide.other)) site else site.refuseAll(ReasonCode.JoinType)
        }
    }
  }

  private def withTargets(
      probe: SparkPlan,
      keys: Seq[Expression],
      source: Option[(SparkPlan, Seq[Attribute])],
      guard: ReuseGuard
  ): JoinSite = {
    val found = ScanTargets.below(probe, keys)
    lazy val spark = filteredBySpark(probe)
    val judged = found.map { target =>
      if (target.exchanges.exists(guard.isShared)) target -> Some(ReasonCode.ReusedExchange)
      else if (target.keys.forall(k => spark.contains(k.exprId)) || isPruned(target)) target -> Some(ReasonCode.AlreadyFilteredBySpark)
      else target -> None
    }
    val refused = judged.collect { case (target, Some(code)) => (target, code) }
    val targets = judged.collect { case (target, None) => target }
    val obstacle = if (targets.nonEmpty) None else refused.headOption.map(_._2)
    JoinSite(source, targets, refused, obstacle)
  }

  /** Columns below `probe` that a Bloom filter of Spark's own already checks. */
  private def filteredBySpark(probe: SparkPlan) = probe.collect { case FilterExec(condition, _) =>
    condition.collect { case b: BloomFilterMightContain => b.valueExpression.references.map(_.exprId) }.flatten
  }.flatten.toSet

  /** Whether Spark's dynamic partition pruning already uses one of the keys on this scan. */
  private def isPruned(target: ScanTarget): Boolean = target.scan match {
    case scan: FileSourceScanExec =>
      scan.partitionFilters.exists(_.exists {
        case p: DynamicPruning => target.keys.exists(k => p.references.exists(_.exprId == k.exprId))
        case _                 => false
      })
    case _ => false
  }
}
