package io.aqeplugin.place

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.Exchange

import io.aqeplugin.observe.Same

/** Which exchange runs before which. In one tree, filters that go down cannot wait in a circle; but a stage waits for what the filters of
  * all its copies wait for.
  *
  * @param copiesOf
  *   the exchanges and stages that equal one, with itself; the same list for each of them
  * @param sourcesOf
  *   the sources of the filters that may be placed on the scans of an exchange's own stage
  */
private[place] final class WaitGraph(copiesOf: SparkPlan => Seq[SparkPlan], sourcesOf: SparkPlan => Seq[SparkPlan]) {

  /** Whether `source` runs only after `exchange`, or a copy of it, over any chain of inputs and filters. If no filter is placed whose source
    * waits for the exchange that it would be placed in, nothing waits for itself.
    */
  def waitsFor(source: SparkPlan, exchange: SparkPlan): Boolean = {
    val (from, goal) = (copiesOf(source).head, copiesOf(exchange).head)
    known.getOrElseUpdate((Same(from), Same(goal)), reaches(goal, List(from), Set.empty))
  }

  private val known = mutable.Map.empty[(Same, Same), Boolean]

  @tailrec
  private def reaches(goal: SparkPlan, from: List[SparkPlan], seen: Set[Same]): Boolean = from match {
    case Nil                              => false
    case next :: _ if next eq goal        => true
    case next :: rest if seen(Same(next)) => reaches(goal, rest, seen)
    case next :: rest                     => reaches(goal, neededBy(next).map(copiesOf(_).head).toList ::: rest, seen + Same(next))
  }

  /** The exchanges inside any copy of `node`, and the sources of the filters that its scans may get. */
  private def neededBy(node: SparkPlan): Seq[SparkPlan] = copiesOf(node).flatMap { copy =>
    copy.children.flatMap(_.collect { case exchange: Exchange => exchange }) ++ sourcesOf(copy)
  }
}
