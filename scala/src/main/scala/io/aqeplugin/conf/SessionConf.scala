package io.aqeplugin.conf

import org.apache.spark.sql.internal.SQLConf

/** Where a Spark session's settings come from. */
object SessionConf {

  /** The plugin's settings as `conf` has them at this moment. */
  def read(conf: SQLConf): Either[ConfError, Settings] =
    AqeConf.read(key => Option(conf.getConfString(key, null)))
}
