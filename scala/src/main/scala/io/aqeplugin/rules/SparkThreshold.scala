package io.aqeplugin.rules

import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.decide.{JoinKind, Side}

/** The size up to which Spark broadcasts a side of a join whose bytes it knows.
  *
  * @param bytes
  *   negative when the user wants no broadcasts
  * @param key
  *   the conf key that says so: AQE's own where it is set
  */
final case class SparkThreshold(bytes: Long, key: String)

object SparkThreshold {

  def of(conf: SQLConf): SparkThreshold =
    conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD) match {
      case Some(bytes) => SparkThreshold(bytes, SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key)
      case None        => SparkThreshold(conf.autoBroadcastJoinThreshold, SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key)
    }

  /** Whether Spark can broadcast `side` of such a join. A threshold of -1 is the user's word against broadcasts. */
  def mayBroadcast(kind: JoinKind, side: Side): Boolean = broadcastsAllowed(SQLConf.get) && (kind match {
    case JoinKind.Inner                                                                  => true
    case JoinKind.LeftOuter | JoinKind.LeftSemi | JoinKind.LeftAnti | JoinKind.Existence => side == Side.Right
    case JoinKind.RightOuter                                                             => side == Side.Left
    case JoinKind.FullOuter | JoinKind.NullAwareAnti                                     => false
  })

  private def broadcastsAllowed(conf: SQLConf): Boolean = conf.autoBroadcastJoinThreshold >= 0 && of(conf).bytes >= 0
}
