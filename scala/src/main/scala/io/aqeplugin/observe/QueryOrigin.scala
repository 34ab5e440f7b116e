package io.aqeplugin.observe

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.CurrentUserContext
import org.apache.spark.sql.internal.SQLConf

/** Whose query it is.
  *
  * @param description
  *   its text as Spark's UI shows it, at most [[QueryOrigin.MaxDescription]] characters
  * @param user
  *   what `current_user()` is for it
  * @param session
  *   Spark's id of the session
  * @param jobGroup
  *   the group of jobs it belongs to; a Thrift Server's id of the statement
  * @param jobTags
  *   the tags of its jobs, at most [[QueryOrigin.MaxTags]]; Spark Connect names user, session and operation in one
  */
final case class QueryOrigin(description: String, user: String, session: Option[String], jobGroup: Option[String], jobTags: Seq[String])

object QueryOrigin {
  val MaxDescription = 4096

  val MaxTags = 32
  private val MaxTagLength = 256

  val Unknown: QueryOrigin = QueryOrigin("", "", None, None, Nil)

  /** Of the query that the calling thread plans. */
  def of(session: SparkSession, sparkContext: SparkContext): QueryOrigin = QueryOrigin(
    SparkBridge.description(sparkContext, SQLConf.get).take(MaxDescription),
    CurrentUserContext.getCurrentUser,
    SparkBridge.sessionId(session),
    SparkBridge.jobGroup(sparkContext),
    sparkContext.getJobTags().toSeq.sorted.take(MaxTags).map(_.take(MaxTagLength))
  )
}
