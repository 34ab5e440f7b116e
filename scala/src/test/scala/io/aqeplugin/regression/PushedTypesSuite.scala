package io.aqeplugin.regression

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** ORC reads files whose columns are of another type than the table's, but a pushed key value of the table's type failed the query. */
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
}
