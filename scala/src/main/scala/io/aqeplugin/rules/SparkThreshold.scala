package io.aqeplugin.rules

import org.apache.spark.sql.internal.SQLConf

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
}
