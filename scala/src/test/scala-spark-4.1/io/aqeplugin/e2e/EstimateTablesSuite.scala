package io.aqeplugin.e2e

import org.scalatest.funsuite.AnyFunSuite

/** The rows of Delta and Iceberg tables before their predicates: from Delta's log, the footers of its files, and Iceberg's snapshot. */
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
    table("few", "SELECT CAST(id AS int) AS ticket FROM range(1003, 1006)")
  }

  private def joined(table: String, condition: String): String =
    s"SELECT count(*), sum(s.v) FROM sales s JOIN (SELECT * FROM $table WHERE $condition) r ON s.ticket = r.ticket"

  test("Delta's log has a table's rows where Delta reads its statistics") {
    isOfTheTable(chosen(joined("delta_returns", "day < 2 AND amount >= 0")), "delta_log", tolerance = 0)
  }

  test("a Delta table without statistics has rows in proportion to its bytes") {
    isOfTheTable(chosen(joined("bare_returns", "day < 2")), "scaled_scan_output")
  }

  for (mapping <- Seq("none", "name"))
    test(s"the footers of a large Delta table have its rows where its log has no statistics, and its ranges; column mapping: $mapping") {
      val path = wide(s"wide_$mapping", Returns, mapping)
      isOfTheTable(chosen(joined(path, "day < 2")), "footers")
      val (source, range) = probed(path, "true")
      assert(source == "footers")
      if (mapping == "none") assert(range.head < 100 && range.last > TableRows - 100, range)
      else assert(range.isEmpty, "columns have other names in the files")
    }

  test("two selections of as many files of one version of a Delta table have ranges of their own") {
    val path = wide("sorted", Returns.replace("id % 20", s"id DIV ${TableRows / 20}"), "none")
    assert(Seq(1, 2).map(day => probed(path, s"day = $day")._2) == Seq(Seq(1000L, 1999L), Seq(2000L, 2999L)))
  }

  /** Of a join whose probe side is the table, where its rows are from, and the range of its tickets. */
  private def probed(path: String, condition: String, value: String = "text"): (String, Seq[Long]) = {
    val decision = chosen(s"SELECT count(*), max(w.$value) FROM (SELECT * FROM $path WHERE $condition) w JOIN few ON w.ticket = few.ticket")
    val probe = decision.path("facts").path("probe")
    (probe.path("scanRowsSource").asText, Seq("min", "max").map(probe.path("keys").path(_)).filter(_.isNumber).map(_.asLong))
  }

  /** A Delta table of returns with 9 MB of text, in a file a day, whose log has no statistics. */
  private def wide(name: String, returns: String, mapping: String): String =
    withConf("spark.aqePlugin.mode" -> "off", "spark.databricks.delta.stats.collect" -> "false") {
      val path = s"delta.`file://${folder.resolve(name)}`"
      val text = "concat_ws('', transform(sequence(1, 30), i -> md5(CAST(ticket * 100 + i AS string)))) AS text"
      spark.sql(
        s"""CREATE TABLE $path USING delta PARTITIONED BY (day) TBLPROPERTIES ('delta.columnMapping.mode' = '$mapping')
           |AS SELECT /*+ REPARTITION(1) */ ticket, amount, $text, day FROM ($returns)""".stripMargin
      )
      path
    }

  test("the snapshot of an Iceberg table has its rows, whatever partitions are read") {
    isOfTheTable(chosen(joined("ice.db.returns", "day < 2")), "iceberg_snapshot", tolerance = 0)
  }

  test("the manifests of an Iceberg table have the ranges of its columns, by the names that a version has for them") {
    val version = withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(s"CREATE TABLE ice.db.renamed USING iceberg AS ${Returns.replace("SELECT", "SELECT /*+ REPARTITION(3) */")}")
      val snapshot = spark.sql("SELECT snapshot_id FROM ice.db.renamed.snapshots").head().getLong(0)
      spark.sql("ALTER TABLE ice.db.renamed RENAME COLUMN ticket TO number")
      spark.sql("ALTER TABLE ice.db.renamed RENAME COLUMN amount TO ticket")
      snapshot
    }
    val (_, older) = probed(s"ice.db.renamed VERSION AS OF $version", "true", "amount")
    val (_, now) = probed("ice.db.renamed", "true", "number")
    assert(older == Seq(0L, TableRows - 1L) && now.nonEmpty && now != older)
  }

  test("a column of an Iceberg table has no range if one of its files has no bounds for it, unless the file has only nulls") {
    def rows(where: String) = s"SELECT ticket, amount FROM ($Returns) WHERE $where"
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(s"CREATE TABLE ice.db.partly USING iceberg AS ${rows("ticket >= 100")}")
      spark.sql("INSERT INTO ice.db.partly SELECT CAST(null AS int), CAST(null AS int) FROM range(10)")
    }
    assert(probed("ice.db.partly", "true", "amount")._2 == Seq(100L, TableRows - 1L))
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("ALTER TABLE ice.db.partly SET TBLPROPERTIES ('write.metadata.metrics.default' = 'none')")
      spark.sql(s"INSERT INTO ice.db.partly ${rows("ticket < 100")}")
    }
    assert(probed("ice.db.partly", "true", "amount")._2.isEmpty)
  }

  test("distinct values that Iceberg has counted are those before a predicate, with Spark's cost-based optimizer") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(s"CREATE TABLE ice.db.counted USING iceberg AS $Returns")
      spark.sql("CALL ice.system.compute_table_stats(table => 'db.counted', columns => array('ticket'))")
    }
    def counted: Option[Long] = {
      val decision = chosen(joined("ice.db.counted", "amount < 10"))
      isOfTheTable(decision, "iceberg_snapshot", tolerance = 0)
      Option(decision.path("facts").path("build").path("keys").path("originDistinct")).filter(_.isNumber).map(_.asLong)
    }
    withConf("spark.sql.cbo.enabled" -> "true")(assert(counted.exists(keys => math.abs(keys - TableRows) < TableRows / 20)))
    assert(counted.isEmpty, "Iceberg does not report it")
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
