package io.aqeplugin.e2e

import java.nio.file.{Files => JavaFiles, Path}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.limit.CollectLimitFilesExec
import io.aqeplugin.storage.ColdFileSystem

/** Limits over tables, files and footers that are damaged, changed, or that the plugin does not handle. */
class LimitBadInputSuite extends AnyFunSuite with LimitSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    manyFiles("t")
  }

  private def sql(text: String): DataFrame = spark.sql(text)

  /** Writes `query` as `files` files, and registers them under `name`. */
  private def stored(name: String, query: String, files: Int = 4, options: Map[String, String] = Map.empty): Path = {
    val path = folder.resolve(name)
    withConf("spark.aqePlugin.mode" -> "off")(sql(query).repartition(files).write.options(options).parquet(path.toString))
    spark.read.parquet(path.toString).createOrReplaceTempView(name)
    path
  }

  for (limit <- Seq("-1", "CAST(NULL AS INT)", "id", "1.5", "'many'"))
    test(s"LIMIT $limit fails as in Spark") {
      val plain = withConf("spark.aqePlugin.mode" -> "off")(Try(sql(s"SELECT * FROM t LIMIT $limit").collect()))
      val ours = Try(sql(s"SELECT * FROM t LIMIT $limit").collect())
      assert(plain.isFailure && ours.isFailure)
      assert(ours.failed.get.getMessage == plain.failed.get.getMessage)
    }

  test("a file whose footer is damaged proves nothing, and fails only a query that needs it") {
    val path = stored("damaged", "SELECT id FROM range(400)")
    val victim = dataFiles(path).head
    JavaFiles.write(victim, Array.fill[Byte](JavaFiles.size(victim).toInt + 5000)(7))
    JavaFiles.deleteIfExists(path.resolve(s".${victim.getFileName}.crc"))
    spark.read.schema("id bigint").parquet(path.toString).createOrReplaceTempView("damaged")
    val ran = limited(sql("SELECT count(*) FROM (SELECT * FROM damaged LIMIT 150)"))
    assert(ran.rows.map(_.getLong(0)) == Seq(150) && ran.choices == Seq("fewest_files"))
    assert(Try(sql("SELECT * FROM damaged LIMIT 1000").collect()).isFailure)
  }

  test("a file that cannot be read fails a query only if Spark reads it") {
    val path = folder.resolve("mixed")
    withConf("spark.aqePlugin.mode" -> "off") {
      val rows = "SELECT id, repeat(uuid(), 4) AS s, CAST(id AS"
      sql(s"$rows int) AS v FROM range(0, 2000, 1, 1)").write.parquet(path.toString)
      sql(s"$rows string) AS v FROM range(0, 3000, 1, 1)").write.mode("append").parquet(path.toString)
    }
    def isReadable(file: Path) = Try(withConf("spark.aqePlugin.mode" -> "off")(readAs(Seq(file)).collect())).isSuccess
    def readAs(files: Seq[Path]) = spark.read.schema("id bigint, s string, v int").parquet(files.map(_.toString): _*)
    // Both files are larger than a split, and Spark reads the first split of the file that it lists first.
    readAs(dataFiles(path).sortBy(!isReadable(_))).createOrReplaceTempView("mixed")
    withConf("spark.sql.files.maxPartitionBytes" -> "200k", "spark.sql.files.openCostInBytes" -> "200k") {
      val collected =
        Seq("SELECT id, v FROM mixed LIMIT 10" -> "fewest_files", "SELECT id, v FROM mixed WHERE s LIKE '%a_%' LIMIT 10" -> "waves")
      for ((query, choice) <- collected) {
        assert(plainly(sql(query)).rows.size == 10, query)
        val ran = limited(sql(query))
        assert(ran.rows.size == 10 && ran.choices == Seq(choice), query)
        val failures = collect(ran.frame.queryExecution.executedPlan) { case limit: CollectLimitFilesExec =>
          limit.metrics("numFailures").value
        }
        // In waves, the readable file may have given its rows before.
        assert(failures == Seq(1L) || choice == "waves")
      }
      val all = "SELECT id, v FROM mixed WHERE s LIKE '%a_%' LIMIT 4000"
      assert(Try(plainly(sql(all))).isFailure && Try(limited(sql(all))).isFailure)
    }
  }

  private def proveNothing(filters: (String, String)*): Unit = filters.foreach { case (table, filter) =>
    val ran = limited(sql(s"SELECT * FROM $table WHERE $filter LIMIT 150"))
    assert(ran.rows.size == 150 && ran.choices == Seq("waves"), table)
    assert(limited(sql(s"SELECT * FROM $table WHERE $filter LIMIT 5000")).rows.size == 400)
  }

  test("files without statistics prove nothing") {
    val path = stored("bare", "SELECT id FROM range(400)", options = Map("parquet.column.statistics.enabled" -> "false"))
    val file = HadoopInputFile.fromPath(new HadoopPath(dataFiles(path).head.toUri), spark.sessionState.newHadoopConf())
    val hasStatistics = Using.resource(ParquetFileReader.open(file)) { reader =>
      reader.getFooter.getBlocks.asScala.exists(_.getColumns.asScala.exists(!_.getStatistics.isEmpty))
    }
    assume(!hasStatistics, "the writer of Spark 4.0 always writes statistics")
    proveNothing("bare" -> "id >= 0")
  }

  test("statistics of floating-point numbers and of old dates prove nothing") {
    stored("floats", "SELECT CASE WHEN id % 50 = 0 THEN double('NaN') ELSE double(id) END AS x FROM range(400)")
    stored("old", "SELECT date_add(DATE'1500-01-01', CAST(id AS int)) AS d FROM range(400)")
    proveNothing("floats" -> "x >= 0", "old" -> "d >= DATE'1400-01-01'")
  }

  test("a column that the files have in another type, or not at all, proves only what Spark reads") {
    val path = stored("typed", "SELECT CAST(id AS int) AS k FROM range(400)")
    spark.read.schema("k bigint, missing int").parquet(path.toString).createOrReplaceTempView("typed")
    assert(limited(sql("SELECT * FROM typed WHERE k >= 0 LIMIT 150")).rows.size == 150)
    val missing = limited(sql("SELECT * FROM typed WHERE missing IS NULL LIMIT 150"))
    assert(missing.rows.size == 150 && missing.choices == Seq("waves"))
    assert(limited(sql("SELECT * FROM typed WHERE missing > 0 LIMIT 150")).rows.isEmpty)
    withConf("spark.sql.caseSensitive" -> "true") {
      spark.read.schema("K int").parquet(path.toString).createOrReplaceTempView("typed")
      assert(limited(sql("SELECT * FROM typed WHERE K >= 0 LIMIT 150")).rows.isEmpty)
    }
  }

  test("a file that is deleted after planning fails the query as in Spark") {
    def outcome(mode: String): Try[Int] = withConf("spark.aqePlugin.mode" -> mode) {
      val path = stored(s"deleted_$mode", "SELECT id FROM range(400)")
      val frame = sql(s"SELECT * FROM deleted_$mode LIMIT 300")
      val _ = frame.queryExecution.executedPlan
      dataFiles(path).foreach(JavaFiles.delete)
      Try(frame.collect().length)
    }
    val (plain, ours) = (outcome("off"), outcome("apply"))
    assert(plain.isFailure && ours.isFailure)
    assert(ours.failed.get.getClass == plain.failed.get.getClass)
  }

  test("a limit that a query uses twice gives the same rows twice, though its footers come late") {
    spark.sparkContext.hadoopConfiguration.set("fs.cold.impl", classOf[ColdFileSystem].getName)
    // Spark reads the larger file first; the footers say that the smaller one has more rows.
    for (rows <- Seq("SELECT id, repeat(sha2(string(id), 512), 20) AS s FROM range(100)", "SELECT id, '' AS s FROM range(1000, 1200)"))
      withConf("spark.aqePlugin.mode" -> "off")(sql(rows).repartition(1).write.mode("append").parquet(folder.resolve("cold").toString))
    // The schema is given, so that nothing opens a file before the limit does.
    spark.read.schema("id bigint, s string").parquet(s"cold://${folder.resolve("cold")}").createOrReplaceTempView("cold")
    val ran = withConf("spark.aqePlugin.limit.footerTimeout" -> "700") {
      limited(sql("WITH x AS (SELECT id FROM cold WHERE id >= 0 LIMIT 50) SELECT count(*) FROM x AS a JOIN x AS b ON a.id = b.id"))
    }
    assert(ran.choices.size == 2 && ran.choices.distinct.size == 1, ran.plan)
    assert(ran.rows.map(_.getLong(0)) == Seq(50), ran.plan)
  }

  test("a table that is written anew is read with its new row counts") {
    stored("renewed", "SELECT id FROM range(400)")
    assert(limited(sql("SELECT * FROM renewed LIMIT 390")).rows.size == 390)
    withConf(
      "spark.aqePlugin.mode" -> "off"
    )(sql("SELECT id FROM range(40)").repartition(4).write.mode("overwrite").parquet(folder.resolve("renewed").toString))
    spark.read.parquet(folder.resolve("renewed").toString).createOrReplaceTempView("renewed")
    assert(limited(sql("SELECT * FROM renewed LIMIT 390")).rows.size == 40)
    assert(limited(sql("SELECT count(*) FROM (SELECT * FROM renewed LIMIT 25)")).rows.head.getLong(0) == 25)
  }

  test("tables without rows and without files have no first rows") {
    val path = stored("nothing", "SELECT id FROM range(400) WHERE id < 0", files = 1)
    assert(limited(sql("SELECT * FROM nothing LIMIT 5")).rows.isEmpty)
    dataFiles(path).foreach(JavaFiles.delete)
    spark.read.schema("id bigint").parquet(path.toString).createOrReplaceTempView("nothing")
    assert(limited(sql("SELECT * FROM nothing LIMIT 5")).rows.isEmpty)
    assert(limited(sql("SELECT * FROM nothing WHERE id > 3 ORDER BY id LIMIT 5")).rows.isEmpty)
  }

  test("without footers a limit is read in waves, and a limit inside a query is left to Spark") {
    withConf("spark.aqePlugin.limit.maxFooters" -> "0") {
      val path = stored("unread", "SELECT id FROM range(400)")
      assert(path.toFile.exists)
      val ran = limited(sql("SELECT * FROM unread LIMIT 150"))
      assert(ran.rows.size == 150 && ran.choices == Seq("waves"))
      assert(ran.limits.head.decision.at("/reason/confKey").asText == "spark.aqePlugin.limit.maxFooters")
      val inner = limited(sql("SELECT count(*) FROM (SELECT * FROM unread LIMIT 150)"))
      assert(inner.rows.head.getLong(0) == 150 && inner.reasons == Seq("ROWS_NOT_PROVEN"))
    }
  }

  private val scans: Seq[(String, () => DataFrame, String)] = Seq(
    (
      "a cached table",
      () => {
        val _ = sql("CACHE TABLE cached AS SELECT * FROM t")
        sql("SELECT * FROM cached LIMIT 5")
      },
      "LIMIT_SOURCE"
    ),
    (
      "a bucketed scan",
      () => {
        withConf("spark.aqePlugin.mode" -> "off")(sql("SELECT * FROM t").write.bucketBy(3, "id").mode("overwrite").saveAsTable("bucketed"))
        sql("SELECT * FROM bucketed WHERE id = 7 LIMIT 5")
      },
      "LIMIT_SOURCE"
    ),
    (
      "JSON files",
      () => {
        val path = folder.resolve("json").toString
        withConf("spark.aqePlugin.mode" -> "off")(sql("SELECT * FROM t").write.mode("overwrite").json(path))
        spark.read.schema("id bigint").json(path).limit(5)
      },
      "LIMIT_SOURCE"
    ),
    (
      "the second version of the file sources",
      () => {
        stored("second", "SELECT id FROM range(400)")
        spark.conf.set("spark.sql.sources.useV1SourceList", "")
        try spark.read.parquet(folder.resolve("second").toString).limit(5)
        finally spark.conf.unset("spark.sql.sources.useV1SourceList")
      },
      "LIMIT_SOURCE"
    )
  )

  for ((what, query, reason) <- scans)
    test(s"$what is left to Spark with a reason") {
      val ran = limited(query())
      assert(ran.rows.nonEmpty && ran.rows.size <= 5)
      assert(ran.choices.distinct == Seq("leave_to_spark") && ran.reasons.contains(reason))
      sql("UNCACHE TABLE IF EXISTS cached")
      sql("DROP TABLE IF EXISTS bucketed")
    }

  test("views, CTEs, subqueries and nested limits are seen through") {
    sql("CREATE OR REPLACE TEMP VIEW seen AS SELECT id, c FROM t WHERE c >= 0")
    for (
      (query, rows) <- Seq(
        "SELECT * FROM seen LIMIT 150" -> 150,
        "WITH w AS (SELECT * FROM t) SELECT * FROM w LIMIT 150" -> 150,
        "SELECT * FROM (SELECT id FROM t LIMIT 150) LIMIT 400" -> 150,
        "SELECT * FROM (SELECT id FROM t LIMIT 150 OFFSET 20) LIMIT 140" -> 140
      )
    ) {
      val ran = limited(sql(query))
      assert(ran.rows.size == rows && ran.opened == 2, query)
    }
    assert(limited(sql("SELECT * FROM t WHERE id IN (SELECT id FROM t LIMIT 150)")).rows.size == 150)
    assert(limited(sql("SELECT (SELECT count(*) FROM (SELECT * FROM t LIMIT 150)) AS n")).rows.map(_.getLong(0)) == Seq(150))
  }

  test("a streaming query is not looked at") {
    val path = folder.resolve("stream").toString
    withConf("spark.aqePlugin.mode" -> "off")(sql("SELECT id FROM range(40)").repartition(4).write.parquet(path))
    val query = spark.readStream.schema("id bigint").parquet(path).limit(15).writeStream.format("memory").queryName("streamed").start()
    try query.processAllAvailable()
    finally query.stop()
    assert(sql("SELECT * FROM streamed").count() == 15)
  }
}
