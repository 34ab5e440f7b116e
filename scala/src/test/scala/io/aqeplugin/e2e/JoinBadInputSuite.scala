package io.aqeplugin.e2e

import java.nio.file.{Files, Path}
import java.util.Arrays

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar.convertIntToGrainOfTime

import io.aqeplugin.metrics.Faults
import io.aqeplugin.observe.TableFacts
import io.aqeplugin.storage.{FooterStatistics, LyingFileSystem}

/** Joins over files that are damaged, and over footers that are wrong. */
class JoinBadInputSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map(
    "spark.hadoop.fs.lying.impl" -> classOf[LyingFileSystem].getName,
    "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  )

  private val Rows = 400000L
  private val DataFiles = 4
  private val Schema = "k BIGINT, a BIGINT"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("dims", "SELECT id * 1000 AS d, id % 7 AS kind FROM range(400)")
  }

  /** A table large enough for its footers to be read. */
  private def facts(name: String): Path = {
    val path = folder.resolve(name)
    withConf("spark.aqePlugin.mode" -> "off") {
      val numbers = spark.range(0, Rows, 1, DataFiles).selectExpr("id AS k", "xxhash64(id) AS a")
      numbers.write.parquet(path.toString)
    }
    path
  }

  private def damage(file: Path)(change: Array[Byte] => Array[Byte]): Unit = {
    Files.write(file, change(Files.readAllBytes(file)))
    val _ = Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
  }

  private def joined: DataFrame = spark.sql("SELECT kind, count(*), max(a) FROM facts JOIN dims ON k = d WHERE kind < 5 GROUP BY kind")

  test("with ignoreCorruptFiles, a file without its footer is left out of a join as without the plugin, and is one fault of its table") {
    val path = facts("damaged")
    val victim = dataFiles(path)(1)
    damage(victim)(bytes => Arrays.copyOf(bytes, bytes.length / 2))
    withConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
      def read(): Unit = spark.read.schema(Schema).parquet(path.toString).createOrReplaceTempView("facts")
      val before = Faults.count
      read()
      val ran = sameRows(joined)
      assert(ran.rows.size == 5 && filtered(ran) == Seq("damaged(k)"), ran.plan)
      eventually(timeout(30.seconds))(assert(Faults.count == before + 1))
      read()
      val _ = sameRows(joined)
      assert(Faults.count == before + 1)
    }
  }

  test("with ignoreCorruptFiles, a filter leaves out no row groups, since Spark leaves out what is behind a damaged one") {
    val path = folder.resolve("groups")
    withConf("spark.aqePlugin.mode" -> "off") {
      val numbers = spark.range(0, Rows, 1, 1).selectExpr("id AS k", "xxhash64(id) AS a")
      numbers.write.option("parquet.block.size", "500000").parquet(path.toString)
    }
    damage(dataFiles(path).head)(bytes => bytes.zipWithIndex.map { case (byte, i) => if (i > 2000 && i < 60000) 7.toByte else byte })
    spark.read.schema(Schema).parquet(path.toString).createOrReplaceTempView("facts")
    table("late", "SELECT 300000 + id AS d FROM range(40)")
    // One split: Spark skips the rest of a split.
    withConf("spark.sql.files.ignoreCorruptFiles" -> "true", "spark.sql.files.openCostInBytes" -> "128m") {
      val found = sameRows(spark.sql("SELECT k, a FROM facts JOIN late ON k = d"))
      assert(found.rows.isEmpty && found.decided.map(_.decision.path("buildFilter").asBoolean) == Seq(true), found.plan)
      val inferred = "SELECT k, a, d FROM late RIGHT JOIN facts ON k = d WHERE (d > 0 AND k = 300001) OR (d > 1 AND k = 300002)"
      assert(sameRows(spark.sql(inferred)).rows.isEmpty)
      assert(
        withoutPlugin(spark.sql("SELECT k, a FROM facts WHERE k BETWEEN 300000 AND 300039")).size == 40,
        "nothing is behind the damage"
      )
    }
  }

  private def footers(table: DataFrame): Option[TableFacts] =
    collectFirst(table.queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }.flatMap(FooterStatistics.of(_))

  for ((lie, rows) <- Seq("no row" -> 0, "one row" -> 1, "fifty times its rows" -> 5000000))
    test(s"a file whose footer tells of $lie gives the rows of Spark") {
      val told = folder.resolve(s"told-$rows")
      withConf("spark.aqePlugin.mode" -> "off") {
        spark.range(0, rows.toLong, 1, 1).selectExpr("-1L AS k", "-1L AS a").write.parquet(told.toString)
      }
      LyingFileSystem.tell(dataFiles(told).head)
      spark.read.schema(Schema).parquet(s"lying:${facts(s"facts-$rows")}").createOrReplaceTempView("facts")
      val ofFooters = eventually(timeout(30.seconds))(footers(spark.table("facts")).getOrElse(fail("no facts")))
      assert(ofFooters.rows.map(_.rows).contains(rows.toLong * DataFiles))
      val ran = sameRows(joined)
      assert(ran.rows.size == 5 && ran.decided.size == 1, ran.plan)
      assert(this.ran(joined).rows == ran.rows, "as the facts choose")
    }
}
