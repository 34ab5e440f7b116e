package io.aqeplugin.rules

import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.decide.{JoinKind, Side}

/** The size up to which Spark broadcasts a side of a join with known bytes.
  *
  * @param bytes
  *   negative when the user allows no broadcasts
  * @param key
  *   the conf key with the threshold: AQE's own if it is set
  */
final case class SparkThreshold(bytes: Long, key: String)

object SparkThreshold {

  def of(conf: SQLConf): SparkThreshold =
    conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD) match {
      case Some(bytes) => SparkThreshold(bytes, SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key)
      case None        => SparkThreshold(conf.autoBroadcastJoinThreshold, SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key)
    }

  /** Whether Spark can broadcast `side` of such a join. A threshold of -1 means that the user allows no broadcasts. */
  def mayBroadcast(kind: JoinKind, side: Side): Boolean = broadcastsAllowed(SQLConf.get) && kind.mayHash(side)

  private def broadcastsAllowed(conf: SQLConf): Boolean = conf.autoBroadcastJoinThreshold >= 0 && of(conf).bytes >= 0
}
