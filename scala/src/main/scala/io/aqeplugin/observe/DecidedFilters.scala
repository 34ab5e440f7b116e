package io.aqeplugin.observe

import org.apache.spark.sql.execution.joins.BaseJoinExec

/** The joins of a query that were decided to have a filter. */
trait DecidedFilters {

  /** The estimated pass rate of the filter of a join, if it was decided to have one. */
  def passRate(joinId: String): Option[Double]

  /** The id of a join, if it was judged. */
  def joinId(join: BaseJoinExec): Option[String]
}

object DecidedFilters {
  object None extends DecidedFilters {
    override def passRate(joinId: String): Option[Double] = Option.empty
    override def joinId(join: BaseJoinExec): Option[String] = Option.empty
  }
}
