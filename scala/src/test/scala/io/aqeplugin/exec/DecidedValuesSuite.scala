package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.vectorized.{ConstantColumnVector, OnHeapColumnVector}
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.filters.{ExactSet, KeyHasher}

class DecidedValuesSuite extends AnyFunSuite with PluginSession {

  private val key = AttributeReference("k", StringType)()

  private def probe(keys: String*): FilterProbe = {
    def metric = new SQLMetric("sum", 0L)
    val filter = ExactSet.of(keys.map(text => KeyHasher.hashUtf8(UTF8String.fromString(text))).toArray).get
    new FilterProbe(KeyCoder(Seq(key), Seq(key)), filter, SelfDisable(1000, 1.0, 1), FilterCounters(metric, metric, metric, metric))
  }

  /** The rows that pass. */
  private def passing(probe: FilterProbe, vector: ColumnVector, rows: Int): Seq[Int] = {
    val positions = Array.range(0, rows)
    positions.take(probe.retain(new ColumnarBatch(Array(vector), rows), positions, rows)).toSeq
  }

  private def encoded(entries: ParquetEntries, ids: Option[Int]*): OnHeapColumnVector = {
    val column = new OnHeapColumnVector(ids.size, StringType)
    column.setDictionary(entries.forSpark)
    val encoded = column.reserveDictionaryIds(ids.size)
    // What a reader leaves in place of a null's id is no id.
    ids.zipWithIndex.foreach { case (id, row) => encoded.putInt(row, id.getOrElse(-1)); if (id.isEmpty) column.putNull(row) }
    column
  }

  test("an entry of a dictionary is decided once in a row group, whatever the number of batches; nulls do not pass") {
    val checked = probe("a", "c")
    val entries = new ParquetEntries(Vector("a", "b", "c", "unused"))
    assert(passing(checked, encoded(entries, Some(0), None, Some(1), Some(2), Some(0)), 5) == Seq(0, 3, 4))
    assert(passing(checked, encoded(entries, Some(2), Some(1), None, Some(0)), 4) == Seq(0, 3))
    assert(entries.decoded == 3)
  }

  test("the ids of another dictionary are other entries") {
    val checked = probe("a", "c")
    assert(passing(checked, encoded(new ParquetEntries(Vector("a", "b")), Some(0), Some(1)), 2) == Seq(0))
    assert(passing(checked, encoded(new ParquetEntries(Vector("b", "a", "c")), Some(0), Some(1), Some(2)), 3) == Seq(1, 2))
    // A column whose next page is not encoded.
    val plain = new OnHeapColumnVector(2, StringType)
    Seq("c", "d").zipWithIndex.foreach { case (text, row) => plain.putByteArray(row, text.getBytes) }
    assert(passing(checked, plain, 2) == Seq(0))
  }

  test("a constant is decided for all rows at once") {
    def constant(text: String): ConstantColumnVector = {
      val vector = new ConstantColumnVector(3, StringType)
      vector.setUtf8String(UTF8String.fromString(text))
      vector
    }
    val checked = probe("a")
    assert(passing(checked, constant("a"), 3) == Seq(0, 1, 2))
    assert(passing(checked, constant("b"), 3).isEmpty)
    val nothing = new ConstantColumnVector(3, StringType)
    nothing.setNull()
    assert(passing(checked, nothing, 3).isEmpty)
  }

  test("columns that are encoded in part, with nulls and over several row groups, give the same rows") {
    val path = folder.resolve("encoded").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark
        .sql("""SELECT id, IF(id % 7 = 0, NULL, concat('text of key ', IF(id < 3000, id % 40, id))) AS text,
               |  IF(id % 11 = 0, NULL, CAST(IF(id < 3000, id % 50, id) AS int)) AS number,
               |  IF(id % 5 = 0, NULL, CAST(id % 30 AS decimal(10, 2))) AS price, IF(id % 2 = 0, NULL, date_add(DATE'2020-01-01', CAST(id % 90 AS int))) AS day,
               |  timestamp_micros(id % 60) AS moment, CAST(id % 20 AS decimal(30, 1)) AS wide FROM range(20000)""".stripMargin)
        .coalesce(1)
        .write
        .option("parquet.dictionary.page.size", "4096")
        .option("parquet.page.row.count.limit", "500")
        .option("parquet.block.size", "65536")
        .parquet(path)
    }
    // A column that the file does not have.
    spark.read.schema(spark.read.parquet(path).schema.add("absent", StringType)).parquet(path).createOrReplaceTempView("encoded")
    table(
      "wanted",
      """SELECT concat('text of key ', id * 3) AS text, CAST(id * 3 AS int) AS number, CAST(id * 3 AS decimal(10, 2)) AS price,
        | date_add(DATE'2020-01-01', CAST(id * 3 AS int)) AS day, timestamp_micros(id * 3) AS moment, CAST(id * 3 AS decimal(30, 1)) AS wide FROM range(12)""".stripMargin
    )
    for (heap <- Seq("false", "true"))
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.columnVector.offheap.enabled" -> heap) {
        for (key <- Seq("text", "number", "price", "day", "moment", "wide")) {
          val joined = sameRows(spark.sql(s"SELECT e.* FROM encoded e JOIN wanted w ON e.$key = w.$key"))
          assert(filtered(joined).nonEmpty && joined.rows.nonEmpty, key)
        }
        val both = sameRows(spark.sql("SELECT e.* FROM encoded e JOIN wanted w ON e.text = w.text AND e.number = w.number"))
        assert(filtered(both).nonEmpty && both.rows.nonEmpty)
      }
  }
}
