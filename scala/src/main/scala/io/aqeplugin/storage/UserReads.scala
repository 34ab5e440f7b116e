package io.aqeplugin.storage

import java.security.PrivilegedExceptionAction
import java.util.concurrent.{CompletableFuture, Executor}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/** Reads files of a table on other threads, as the user of a query and with its conf.
  *
  * @param readers
  *   the threads; may reject
  */
private[storage] final class UserReads(user: UserGroupInformation, val conf: Configuration, readers: Executor) {
  def userName: String = user.getUserName

  def async[A](read: => A): CompletableFuture[A] = {
    val action: PrivilegedExceptionAction[A] = () => read
    CompletableFuture.supplyAsync[A](() => user.doAs(action), readers)
  }
}

private[storage] object UserReads {

  /** With the conf with which the query will open the files: its user may not be the driver's, and a read may have credentials of its own. */
  def of(relation: HadoopFsRelation, readers: Executor): UserReads = new UserReads(
    UserGroupInformation.getCurrentUser,
    relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options),
    readers
  )
}
