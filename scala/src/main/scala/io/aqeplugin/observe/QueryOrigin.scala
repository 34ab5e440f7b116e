package io.aqeplugin.observe

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.CurrentUserContext
import org.apache.spark.sql.internal.SQLConf

/** Where a query comes from.
  *
  * @param description
  *   the query's text as Spark's UI shows it, at most [[QueryOrigin.MaxDescription]] characters
  * @param user
  *   the value of `current_user()` in the query
  * @param session
  *   Spark's id of the session
  * @param jobGroup
  *   the query's job group; for a Thrift Server, the id of the statement
  * @param jobTags
  *   the tags of its jobs, at most [[QueryOrigin.MaxTags]]; Spark Connect puts user, session and operation into one tag
  */
final case class QueryOrigin(description: String, user: String, session: Option[String], jobGroup: Option[String], jobTags: Seq[String])

object QueryOrigin {
  val MaxDescription = 4096
  val MaxTags = 32
  private val MaxTagLength = 256

  val Unknown: QueryOrigin = QueryOrigin("", "", None, None, Nil)

  /** The origin of the query that the calling thread plans. */
  def of(session: SparkSession, sparkContext: SparkContext): QueryOrigin = QueryOrigin(
    SparkBridge.description(sparkContext, SQLConf.get).take(MaxDescription),
    CurrentUserContext.getCurrentUser,
    SparkBridge.sessionId(session),
    SparkBridge.jobGroup(sparkContext),
    sparkContext.getJobTags().toSeq.sorted.take(MaxTags).map(_.take(MaxTagLength))
  )
}
