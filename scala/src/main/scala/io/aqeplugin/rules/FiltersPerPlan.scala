package io.aqeplugin.rules

import java.util.IdentityHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.place.{Placement, ReuseGuard}

/** The filters of a plan.
  *
  * @param refused
  *   the filters above a limit, each with the reason
  */
final case class FiltersPerPlan(kept: Seq[Placement], refused: Seq[(Placement, Reason)]) {

  /** The same without the filters that not all copies of an exchange keep; what is left is in the same order in all of them. */
  def alikeInCopies(guard: ReuseGuard): FiltersPerPlan = {
    val isAlike = guard.equalInAllCopies(kept.map(_.request))
    val (alike, others) = kept.partition(placement => isAlike(placement.request))
    FiltersPerPlan(alike.sortBy(placement => guard.rank(placement.request)), refused ++ others.map(_ -> Reason(ReasonCode.ReusedExchange)))
  }
}

object FiltersPerPlan {

  /** Maximum number of filters on one plan: every source is a copy of its build side's tree, and copies multiply along chains. */
  private val MaxPerPlan = 64

  /** The most selective filters of each scan and of the plan. */
  def choose(wanted: Seq[Placement], maxPerScan: Int): FiltersPerPlan = {
    // By position, and scans by identity: placements contain plans, and hashing a plan walks all of it.
    val perScan = new IdentityHashMap[SparkPlan, Seq[Int]]().asScala
    wanted.indices.foreach(i => perScan.update(wanted(i).request.target.scan, perScan.getOrElse(wanted(i).request.target.scan, Nil) :+ i))
    val bestOfScans = perScan.values.flatMap(_.sortBy(wanted(_).expectedPassRate).take(maxPerScan)).toSeq
    val best = bestOfScans.sortBy(wanted(_).expectedPassRate).take(MaxPerPlan).toSet
    val (kept, tooMany) = wanted.indices.partition(best.contains)
    val ofScans = bestOfScans.toSet
    FiltersPerPlan(
      kept.map(wanted),
      tooMany.map(i => wanted(i) -> (if (ofScans.contains(i)) tooManyOnPlan else tooManyOnScan(maxPerScan)))
    )
  }

  private def tooManyOnScan(limit: Int): Reason =
    Reason(ReasonCode.MaxFiltersPerScan, limit = Some(limit.toDouble), unit = "filters", confKey = AqeConf.FilterMaxPerScan.key)

  private val tooManyOnPlan: Reason = Reason(ReasonCode.MaxFiltersPerPlan, limit = Some(MaxPerPlan.toDouble), unit = "filters")
}
