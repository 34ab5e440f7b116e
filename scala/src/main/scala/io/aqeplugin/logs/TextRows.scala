package io.aqeplugin.logs

import org.apache.spark.sql.{Dataset, Encoders, SparkSession}

/** The lines of a text as rows on the driver. Python would need one call per row. */
object TextRows {
  def of(spark: SparkSession, text: String): Dataset[String] =
    spark.createDataset(text.split("\n").toSeq.filter(_.nonEmpty))(Encoders.STRING)
}
