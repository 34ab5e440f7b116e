package io.aqeplugin.place

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange

import io.aqeplugin.exec.{RuntimeFilterExchangeExec, RuntimeFilterExec}
import io.aqeplugin.observe.{ByIdentity, Engines, LoweredFilters, QueryState}

/** Where filters wait in a plan that an engine carries out. An operator that it does not know would cut off what it runs above, broadcasts
  * of other build sides among it, which have started by the time the filters are there. So conditions that it knows hold the places while
  * it takes the plan over, and what waits is put on them afterwards.
  */
object EnginePlaces {

  /** @param placements
    *   the filters that are not built; a task that gets a condition of Spark's with it needs none
    * @param clockNanos
    *   when to check the waits, as of [[PlaceFilters]]
    */
  final case class Waiting(@transient placements: Seq[Placement], clockNanos: Option[Long])

  private val WaitingTag = TreeNodeTag[Waiting]("aqe_plugin_waiting")
  private val SourceTag = TreeNodeTag[SparkPlan]("aqe_plugin_filter_source")

  /** Makes a condition hold the place of filters. */
  def hold(condition: FilterExec, waiting: Waiting): FilterExec = {
    condition.setTagValue(WaitingTag, waiting)
    condition
  }

  /** Makes the exchanges that filters come from known by what they are now, before the plan is rewritten: a copy takes the tag with it. */
  def nameSources(placements: Seq[Placement]): Unit =
    placements.map(_.request.source).foreach { case exchange: Exchange => exchange.setTagValue(SourceTag, exchange); case _ => }

  /** The plan below a condition that holds a place. */
  def below(plan: SparkPlan): Option[SparkPlan] = plan match {
    case FilterExec(_, child) if plan.getTagValue(WaitingTag).isDefined => Some(child)
    case _                                                              => None
  }

  /** Takes from the plugin's conditions what an engine has linked them to: it links its own operators, and all below them that have no link,
    * across exchanges too. AQE would take a finished shuffle of the condition's rows for the operator above the shuffle, which has not run.
    */
  def unlink(plan: SparkPlan): Unit = plan.foreach { node =>
    if (below(node).isDefined || LoweredFilters.below(node).isDefined) node.unsetTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG)
  }

  /** Whether a plan that the engine has taken over has a filter of the plugin's in it, or its place. */
  private def isFiltered(plan: SparkPlan): Boolean = plan.exists { node =>
    val spark = Engines.original(node)
    node.isInstanceOf[RuntimeFilterExec] || below(spark).isDefined || LoweredFilters.below(spark).isDefined
  }

  /** What builds the filter of a request, in canonical form. */
  def canonical(request: FilterRequest): SparkPlan =
    RuntimeFilterExchangeExec.canonical(request.sourceKeys, request.source, request.bounds)

  /** What waits in a plan that the engine has taken over: each place with the operator that holds it now, whose filters come from the
    * exchanges that there are now.
    */
  def taken(plan: SparkPlan, state: QueryState): Seq[Waiting] = {
    val builds = state.buildsNow
    val nodes = plan.collect { case node => node -> Engines.original(node) }
    val sources = ByIdentity.of(nodes.flatMap { case (node, spark) => spark.getTagValue(SourceTag).map(_ -> node) })
    for ((node, spark) <- nodes; waiting <- spark.getTagValue(WaitingTag))
      yield waiting.copy(placements = waiting.placements.flatMap { one =>
        val source = one.request.source match {
          case stage: QueryStageExec => Some(stage)
          case exchange              => sources.get(exchange)
        }
        source.map { found =>
          val now = one.request.copy(source = found, target = one.request.target.copy(node = node))
          // Built for another plan of the query; the next one has it by the exchange that the engine has not taken over. One whose rows are
          // filtered is not known by that: others with other filters are equal to it.
          one.request.source match {
            case _: Exchange if builds.nonEmpty && !isFiltered(found) =>
              builds.get(canonical(now)).foreach(state.noteBuild(canonical(one.request), _))
            case _ =>
          }
          one.copy(request = now)
        }
      })
  }
}
