package io.aqeplugin.e2e

import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite

/** LIMIT over Delta and Iceberg tables: proven from the footers of a Delta table whose rows are those of its files, else left to Spark. */
class LimitTablesSuite extends AnyFunSuite with LimitSession {

  override protected def applicationConf: Map[String, String] = super.applicationConf ++ Map(
    "spark.sql.extensions" ->
      "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    // Delta reads its log by a job of 50 tasks.
    "spark.databricks.delta.snapshotPartitions" -> "1",
    "spark.sql.catalog.ice" -> "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type" -> "hadoop",
    "spark.sql.catalog.ice.warehouse" -> folder.resolve("ice").toString
  )

  private def unchanged(body: => Any): Unit = withConf("spark.aqePlugin.mode" -> "off") { val _ = body }

  private def rows: DataFrame =
    spark.range(0, Files.toLong * FileRows, 1, Files).selectExpr("id AS c", "CAST(hash(id) % 1000 AS int) AS u")

  private def delta(name: String, properties: (String, String)*): Unit = unchanged {
    val path = s"file://${folder.resolve(name)}"
    rows.write.format("delta").options(properties.toMap).save(path)
    spark.sql(s"CREATE OR REPLACE TEMPORARY VIEW $name AS SELECT * FROM delta.`$path`")
  }

  private def deltaPath(name: String): String = s"delta.`file://${folder.resolve(name)}`"

  private def sameTop(query: String): LimitRan = {
    val ran = limited(spark.sql(query))
    assert(ran.rows == plainly(spark.sql(query)).rows)
    ran
  }

  test("a filter on a clustered column of a Delta table is proven from footers") {
    delta("clustered")
    val ran = limited(spark.sql("SELECT c FROM clustered WHERE c >= 1050 LIMIT 30"))
    assert(ran.rows.size == 30 && ran.rows.forall(_.getLong(0) >= 1050))
    assert(ran.choices == Seq("fewest_files"))
    assert(ran.limits.head.decision.path("filesChosen").asInt == 1)
  }

  test("top-k of a Delta table reads the files of the first rows") {
    delta("top")
    val ran = sameTop("SELECT c, u FROM top ORDER BY c DESC LIMIT 5")
    assert(ran.choices == Seq("top_files"))
    assert(ran.limits.head.decision.path("filesChosen").asInt == 1)
  }

  test("a Delta table with deleted rows is left to Spark") {
    delta("deleted", "delta.enableDeletionVectors" -> "true")
    unchanged(spark.sql(s"DELETE FROM ${deltaPath("deleted")} WHERE c % 3 = 0 OR c > 1990"))
    val vectors = spark.sql(s"DESCRIBE HISTORY ${deltaPath("deleted")}").selectExpr("operationMetrics['numDeletionVectorsAdded']").head()
    assert(vectors.getString(0).toInt > 0)
    val top = sameTop("SELECT c FROM deleted ORDER BY c DESC LIMIT 5")
    assert(top.rows.map(_.getLong(0)) == Seq(1990L, 1988L, 1987L, 1985L, 1984L))
    assert(top.choices == Seq("leave_to_spark"))
    val some = limited(spark.sql("SELECT c FROM deleted WHERE c >= 0 LIMIT 150"))
    assert(some.rows.size == 150 && some.rows.forall(_.getLong(0) % 3 != 0))
  }

  test("a Delta table whose columns have other names in its files is left to Spark") {
    delta("renamed", "delta.columnMapping.mode" -> "name")
    unchanged {
      spark.sql(s"ALTER TABLE ${deltaPath("renamed")} RENAME COLUMN c TO d")
      spark.sql(s"ALTER TABLE ${deltaPath("renamed")} RENAME COLUMN u TO c")
      spark.sql(s"CREATE OR REPLACE TEMPORARY VIEW renamed AS SELECT * FROM ${deltaPath("renamed")}")
    }
    val ran = sameTop("SELECT d, c FROM renamed ORDER BY d DESC LIMIT 5")
    assert(ran.rows.map(_.getLong(0)) == Seq(1999L, 1998L, 1997L, 1996L, 1995L))
    assert(ran.choices == Seq("leave_to_spark"))
  }

  test("a Delta table whose columns have swapped their names is left to Spark") {
    delta("swapped")
    unchanged {
      val table = deltaPath("swapped")
      spark.sql(s"ALTER TABLE $table SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
      Seq("c" -> "other", "u" -> "c", "other" -> "u").foreach { case (from, to) =>
        spark.sql(s"ALTER TABLE $table RENAME COLUMN $from TO $to")
      }
      spark.sql(s"CREATE OR REPLACE TEMPORARY VIEW swapped AS SELECT * FROM $table")
    }
    val ran = limited(spark.sql("SELECT u FROM swapped WHERE u >= 1050 LIMIT 30"))
    assert(ran.rows.size == 30 && ran.rows.forall(_.getLong(0) >= 1050))
    assert(ran.choices == Seq("leave_to_spark"))
  }

  test("an Iceberg table, which takes the limit itself, is left to Spark") {
    unchanged {
      rows.writeTo("ice.db.t").tableProperty("format-version", "2").tableProperty("write.delete.mode", "merge-on-read").create()
      spark.sql("DELETE FROM ice.db.t WHERE c % 3 = 0")
    }
    val top = sameTop("SELECT c FROM ice.db.t ORDER BY c DESC LIMIT 5")
    assert(top.reasons == Seq("LIMIT_SOURCE"))
    val some = limited(spark.sql("SELECT c FROM ice.db.t LIMIT 150"))
    assert(some.rows.size == 150 && some.rows.forall(_.getLong(0) % 3 != 0))
  }
}
