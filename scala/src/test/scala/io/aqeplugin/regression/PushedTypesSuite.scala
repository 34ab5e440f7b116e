package io.aqeplugin.regression

import org.apache.spark.sql.types.{IntegerType, MetadataBuilder, StructField, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** Files whose columns have another type than the table's can be read. But a pushed key value of the table's type failed the query (ORC),
  * or was cut to the file's type, so that row groups with keys were skipped (Parquet decimals). The same happened where a file's columns
  * are identified by field ids.
  */
class PushedTypesSuite extends AnyFunSuite with PluginSession {
  private val SortMerge = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

  for ((inFile, inTable) <- Seq("STRING" -> "INT", "DECIMAL(7,2)" -> "BIGINT", "DATE" -> "TIMESTAMP"))
    test(s"an ORC column that is ${inTable.toLowerCase} in the table and ${inFile.toLowerCase} in a file") {
      val value = if (inFile == "DATE") "DATE'2020-01-01' + CAST(id AS INT)" else "id"
      withConf(SortMerge) {
        val path = folder.resolve(s"orc-$inTable").toString
        withConf("spark.aqePlugin.mode" -> "off") {
          spark.sql(s"SELECT id, CAST($value AS $inFile) AS k FROM range(100)").repartition(2).write.orc(path)
        }
        spark.read.schema(s"id BIGINT, k $inTable").orc(path).createOrReplaceTempView("orc_fact")
        table("orc_dim", s"SELECT CAST($value AS $inTable) AS k FROM range(5)")
        val result = sameRows(spark.sql("SELECT f.id FROM orc_fact f LEFT SEMI JOIN orc_dim d ON f.k = d.k"))
        assert(result.rows.size == 5)
        assert(filtered(result) == Seq(s"orc-$inTable(k)"))
      }
    }

  for ((format, legacy) <- Seq("plain" -> "false", "legacy" -> "true"))
    test(s"a Parquet decimal that is wider in the table than in a file of the $format format") {
      withConf(SortMerge, "spark.sql.parquet.writeLegacyFormat" -> legacy) {
        val path = folder.resolve(s"decimal-$format").toString
        withConf("spark.aqePlugin.mode" -> "off") {
          spark.sql("SELECT id, CAST(id AS DECIMAL(9,2)) AS k FROM range(1000)").repartition(2).write.parquet(path)
        }
        spark.read.schema("id BIGINT, k DECIMAL(12,2)").parquet(path).createOrReplaceTempView("decimal_fact")
        // More keys than an IN list takes; the last is beyond the range of the file's type.
        table("decimal_dim", "SELECT CAST(if(id = 60, 30000000, id) AS DECIMAL(12,2)) AS k FROM range(61)")
        val result = sameRows(spark.sql("SELECT f.id FROM decimal_fact f LEFT SEMI JOIN decimal_dim d ON f.k = d.k"))
        assert(result.rows.size == 60)
        assert(filtered(result) == Seq(s"decimal-$format(k)"))
      }
    }

  test("Parquet columns read by field ids whose names are other columns' in the file") {
    withConf(SortMerge, "spark.sql.parquet.fieldId.read.enabled" -> "true") {
      def field(name: String, id: Long): StructField =
        StructField(name, IntegerType, nullable = true, new MetadataBuilder().putLong("parquet.field.id", id).build())
      val path = folder.resolve("by-id").toString
      val rows = spark.range(200).selectExpr("CAST(id AS int)", "CAST(1000 + id AS int)").collectAsList()
      spark.createDataFrame(rows, StructType(Seq(field("a", 2), field("b", 1)))).write.parquet(path)
      spark.read.schema(StructType(Seq(field("a", 1), field("b", 2)))).parquet(path).createOrReplaceTempView("by_id_fact")
      table("by_id_dim", "SELECT CAST(1000 + id AS int) AS k FROM range(5)")
      val result = sameRows(spark.sql("SELECT f.b FROM by_id_fact f LEFT SEMI JOIN by_id_dim d ON f.a = d.k"))
      assert(result.rows.size == 5)
      assert(filtered(result) == Seq("by-id(a)"))
    }
  }
}
