package io.aqeplugin.exec

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, ShuffleQueryStageExec}

import io.aqeplugin.decide.Reason
import io.aqeplugin.filters.RangeBounds

/** Records on a build side's own exchange which filters were built from it. Re-planning makes every node anew except stages, so a rule can
  * look up the values of a finished filter there, and the record is freed with the query.
  */
object BuiltFilters {

  /** @param times
    *   how often it was built; more than once means that AQE did not find the first filter
    */
  final case class Built(result: Either[Reason, FilterSummary], times: Int)

  private type ByOrdinals = ConcurrentHashMap[(Seq[Int], Option[RangeBounds]), Built]
  private val Tag = TreeNodeTag[ByOrdinals]("aqe_plugin_built_filters")

  /** Must be called while the rule alone holds the stage, so that later writers find the map. */
  def prepare(stage: SparkPlan): Unit = exchangeOf(stage).foreach { exchange =>
    Tag.synchronized {
      if (exchange.getTagValue(Tag).isEmpty) exchange.setTagValue(Tag, new ByOrdinals())
    }
  }

  def note(child: SparkPlan, keys: Seq[Attribute], bounds: Option[RangeBounds], result: Either[Reason, FilterSummary]): Unit = {
    val build = RuntimeFilterExchangeExec.buildOf(child)
    prepare(build)
    for (exchange <- exchangeOf(build); built <- exchange.getTagValue(Tag)) {
      val _ = built.merge((ordinals(build, keys), bounds), Built(result, 1), (earlier, now) => Built(now.result, earlier.times + 1))
    }
  }

  /** The filter over `keys` of a finished build stage, by the values of the keys or by `bounds`, if one was built. */
  def get(stage: SparkPlan, keys: Seq[Attribute], bounds: Option[RangeBounds]): Option[Built] = for {
    exchange <- exchangeOf(stage)
    built <- exchange.getTagValue(Tag)
    filter <- Option(built.get((ordinals(stage, keys), bounds)))
  } yield filter

  private def ordinals(build: SparkPlan, keys: Seq[Attribute]): Seq[Int] = keys.map(k => build.output.indexWhere(_.exprId == k.exprId))

  private def exchangeOf(stage: SparkPlan): Option[SparkPlan] = stage match {
    case s: ShuffleQueryStageExec   => Some(s.shuffle)
    case b: BroadcastQueryStageExec => Some(b.broadcast)
    case _                          => None
  }
}
