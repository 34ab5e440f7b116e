package io.aqeplugin.logs

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.{classic, SparkSession}

/** What file systems are asked with: the conf of the application, with what the session sets. */
private[logs] object HadoopConf {
  def of(spark: SparkSession): Configuration = spark match {
    case session: classic.SparkSession => session.sessionState.newHadoopConf()
    case other                         => other.sparkContext.hadoopConfiguration
  }
}
