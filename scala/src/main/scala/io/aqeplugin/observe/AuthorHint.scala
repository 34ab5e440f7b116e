package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage

/** The hint that a query's author gave a join.
  *
  * AQE sets hints too, on a side whose stage has finished with many empty or only small partitions. Two of them nobody can write into a query; the
  * third, `SHUFFLE_HASH`, is the author's on a side that has not run.
  */
object AuthorHint {

  /** Its name; none when the join has none, or only hints of AQE. */
  def of(join: Join): Option[String] = {
    val sides = Seq(join.left -> join.hint.leftHint, join.right -> join.hint.rightHint)
    sides.flatMap { case (side, info) => info.flatMap(_.strategy).filterNot(isOfAqe(side, _)) }.headOption.map(_.displayName)
  }

  private def isOfAqe(side: LogicalPlan, strategy: JoinStrategyHint): Boolean = strategy match {
    case NO_BROADCAST_HASH | PREFER_SHUFFLE_HASH => true
    case SHUFFLE_HASH                            => side.isInstanceOf[LogicalQueryStage]
    case _                                       => false
  }
}
