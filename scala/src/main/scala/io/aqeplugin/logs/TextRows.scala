package io.aqeplugin.logs

import org.apache.spark.sql.{Dataset, Encoders, SparkSession}

/** Lines of a text as rows that the driver holds, for Python, which would pass them one call at a time. */
object TextRows {
  def of(spark: SparkSession, text: String): Dataset[String] =
    spark.createDataset(text.split("\n").toSeq.filter(_.nonEmpty))(Encoders.STRING)
}
