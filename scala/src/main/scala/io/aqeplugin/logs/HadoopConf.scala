package io.aqeplugin.logs

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.{classic, SparkSession}

/** The conf for file systems: that of the application, with the session's settings. */
private[logs] object HadoopConf {
  def of(spark: SparkSession): Configuration = spark match {
    case session: classic.SparkSession => session.sessionState.newHadoopConf()
    case other                         => other.sparkContext.hadoopConfiguration
  }
}
