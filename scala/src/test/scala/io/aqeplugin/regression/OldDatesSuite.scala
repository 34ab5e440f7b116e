package io.aqeplugin.regression

import java.time.LocalDate

import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroup
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** Sources get dates and timestamps as `java.sql` values. Days that the calendar of these values lacks were read as 1582-10-15, and row
  * groups with a key were skipped; values too far in the past overflowed and failed the query.
  */
class OldDatesSuite extends AnyFunSuite with PluginSession {
  private val CorrectedMicros = Seq(
    "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
    "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  )

  for (
    (what, value) <- Seq(
      "a day skipped at the end of the Julian calendar" -> "DATE'1582-10-10'",
      "a time on such a day" -> "TIMESTAMP'1582-10-10 12:00:00'",
      "the first date" -> "date_from_unix_date(-2147483648)",
      "the first timestamp" -> "timestamp_micros(-9223372036854775807L - 1)"
    );
    format <- Seq("parquet", "json")
    // Text formats cannot write years with so many digits.
    if format == "parquet" || value.contains("1582")
  ) test(s"$what as the key of a join of $format files") {
    withConf(CorrectedMicros: _*) {
      table("old_fact", s"SELECT id, $value AS k FROM range(50)", format)
      table("old_dim", s"SELECT $value AS k FROM range(3)")
      val result = sameRows(spark.sql("SELECT f.id FROM old_fact f LEFT SEMI JOIN old_dim d ON f.k = d.k"))
      assert(result.rows.size == 50)
      assert(filtered(result).nonEmpty)
    }
  }

  // Julian 1500-02-29 and 1500-03-01 are these days of the Gregorian calendar; both are read as 1500-03-01.
  for (day <- Seq(10, 11)) test(s"two Julian days that are read as the same day, 1500-03-$day") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.parquet.datetimeRebaseModeInRead" -> "LEGACY") {
      val path = folder.resolve(s"julian-$day.parquet").toString
      writeDays(path, Seq.fill(50)(LocalDate.of(1500, 3, day)))
      spark.read.schema("k DATE").parquet(path).createOrReplaceTempView("julian_fact")
      table("julian_dim", "SELECT DATE'1500-03-01' AS k FROM range(3)")
      val result = sameRows(spark.sql("SELECT f.k FROM julian_fact f LEFT SEMI JOIN julian_dim d ON f.k = d.k"))
      assert(result.rows.size == 50)
      assert(filtered(result).nonEmpty)
    }
  }

  /** A file that does not name its calendar, as other writers leave it. */
  private def writeDays(path: String, days: Seq[LocalDate]): Unit = {
    val schema = MessageTypeParser.parseMessageType("message m { required int32 k (DATE); }")
    val writer = ExampleParquetWriter.builder(new Path(path)).withType(schema).build()
    try days.foreach(day => writer.write(new SimpleGroup(schema).append("k", day.toEpochDay.toInt)))
    finally writer.close()
  }
}
