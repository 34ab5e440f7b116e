package io.aqeplugin.observe

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage

/** The join hint that the query's author wrote, or that the plan of a command such as MERGE has from its beginning.
  *
  * AQE sets hints too, on the side of a finished stage that has many empty partitions or only small ones. Two of them cannot be written in
  * a query. The third, `SHUFFLE_HASH`, is the author's when its side has not run. A plan that EXPLAIN made may run later, and when it is seen
  * again, its first stages have run: so the hint is kept with the join.
  */
object AuthorHint {

  private val Tag = TreeNodeTag[Option[String]]("io.aqeplugin.author_hint")

  /** The name of the author's hint; none when the join has no hint, or only hints from AQE. */
  def of(join: Join): Option[String] = join.synchronized(join.getTagValue(Tag).getOrElse {
    val sides = Seq(join.left -> join.hint.leftHint, join.right -> join.hint.rightHint)
    val hint = sides.flatMap { case (side, info) => info.flatMap(_.strategy).filterNot(isOfAqe(side, _)) }.headOption.map(_.displayName)
    if (!sides.exists(_._1.isInstanceOf[LogicalQueryStage])) join.setTagValue(Tag, hint)
    hint
  })

  private def isOfAqe(side: LogicalPlan, strategy: JoinStrategyHint): Boolean = strategy match {
    case NO_BROADCAST_HASH => true
    case SHUFFLE_HASH      => side.isInstanceOf[LogicalQueryStage]
    case other             => ThisSparkLine.preferredHash.contains(other)
  }
}
