package io.aqeplugin.e2e

import org.scalatest.funsuite.AnyFunSuite

/** The rows of Delta and Iceberg tables before their predicates: from Delta's log and Iceberg's snapshot. */
class EstimateTablesSuite extends AnyFunSuite with PluginSession with EstimateQueries {

  override protected def applicationConf: Map[String, String] = super.applicationConf ++ Map(
    "spark.sql.extensions" ->
      "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions" -> "1",
    "spark.sql.catalog.ice" -> "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type" -> "hadoop",
    "spark.sql.catalog.ice.warehouse" -> folder.resolve("ice").toString
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    withConf("spark.aqePlugin.mode" -> "off") {
      Seq("delta" -> "true", "bare" -> "false").foreach { case (name, collects) =>
        withConf("spark.databricks.delta.stats.collect" -> collects) {
          val path = s"file://${folder.resolve(name)}"
          spark.sql(Returns).repartition(1).write.partitionBy("day").format("delta").save(path)
          spark.sql(s"CREATE OR REPLACE TEMPORARY VIEW ${name}_returns AS SELECT * FROM delta.`$path`")
        }
      }
      spark.sql(s"CREATE TABLE ice.db.returns USING iceberg PARTITIONED BY (day) AS $Returns")
    }
    table("sales", Sales, files = 2)
  }

  private def joined(table: String, condition: String): String =
    s"SELECT count(*), sum(s.v) FROM sales s JOIN (SELECT * FROM $table WHERE $condition) r ON s.ticket = r.ticket"

  test("Delta's log has a table's rows where Delta reads its statistics") {
    isOfTheTable(chosen(joined("delta_returns", "day < 2 AND amount >= 0")), "delta_log", tolerance = 0)
  }

  test("a Delta table without statistics has rows in proportion to its bytes") {
    isOfTheTable(chosen(joined("bare_returns", "day < 2")), "scaled_scan_output")
  }

  test("the snapshot of an Iceberg table has its rows, whatever partitions are read") {
    isOfTheTable(chosen(joined("ice.db.returns", "day < 2")), "iceberg_snapshot", tolerance = 0)
  }

  test("an older version or a branch of an Iceberg table has the rows that it had") {
    val version = withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(s"CREATE TABLE ice.db.grown USING iceberg PARTITIONED BY (day) AS $Returns")
      spark.sql("ALTER TABLE ice.db.grown CREATE BRANCH before")
      val snapshot = spark.sql("SELECT snapshot_id FROM ice.db.grown.snapshots").head().getLong(0)
      spark.sql(s"INSERT INTO ice.db.grown $Returns")
      snapshot
    }
    Seq(s"ice.db.grown VERSION AS OF $version", "ice.db.grown VERSION AS OF 'before'", "ice.db.grown.branch_before").foreach { table =>
      isOfTheTable(chosen(joined(table, "day < 2")), "iceberg_snapshot", tolerance = 0)
    }
  }
}
