package io.aqeplugin.e2e

import java.util.concurrent.atomic.AtomicBoolean

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.functions.col
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.exec.DataFiles
import io.aqeplugin.storage.{FileSamples, FooterStatistics}

/** Keys of a broadcast join, which are cheap to look up: a filter pays for the files that it leaves out, by the default thresholds. */
class KeylessFilesSuite extends AnyFunSuite with TableFormats {
  private val Files = 24
  private val RowsOfFile = 5000
  private val Rows = Files * RowsOfFile

  private val Pad = (0 until 4).map(i => s"sha2(concat(id, '-$i'), 512)").mkString("concat(", ", ", ")")

  private val Keys = Seq(
    "k_int" -> "CAST(id AS int)",
    "k_date" -> "DATE'1975-01-01' + CAST(id AS int)",
    "k_decimal" -> "CAST(id / 4 AS decimal(12, 2))",
    "k_timestamp" -> "timestamp_seconds(1600000000 + id * 60)",
    "k_string" -> "concat('key-', lpad(id, 9, '0'))"
  )

  private val Formats = Seq("parquet", "orc", "delta", "iceberg")

  private def named(format: String): String = if (format == "iceberg") "ice.facts" else s"$format.`file://${folder.resolve(format)}`"

  // The footers of other times tell nothing.
  override protected def applicationConf: Map[String, String] =
    super.applicationConf + ("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val columns = Keys.map { case (name, value) => s"$value AS $name" }
    withConf("spark.aqePlugin.mode" -> "off") {
      val facts = spark.range(0, Rows, 1, Files).selectExpr((columns :+ "id AS v") :+ s"$Pad AS pad": _*)
      Formats.foreach {
        case "iceberg" => facts.writeTo("ice.facts").using("iceberg").tableProperty("write.distribution-mode", "none").create()
        case format    => facts.write.format(format).save(folder.resolve(format).toString)
      }
    }
    // In two of the files, and some in each.
    table("near", s"SELECT ${columns.mkString(", ")} FROM range($Rows) WHERE id BETWEEN 7000 AND 7020 OR id BETWEEN 99000 AND 99020")
    table("spread", s"SELECT ${columns.mkString(", ")} FROM range($Rows) WHERE id % 500 = 7")
    table("last", s"SELECT ${columns.mkString(", ")} FROM range($Rows) WHERE id >= ${Rows - 100}")
  }

  /** The filter's decision, and the rows that were read, of a query that has the rows that it has without the plugin. */
  private def decided(query: String): (JsonNode, Long) = withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m") {
    val expected = withoutPlugin(spark.sql(query))
    // The first query may not wait for the bounds long enough.
    assert(ran(spark.sql(query)).rows == expected)
    val (again, read) = reading(ran(spark.sql(query)))
    assert(again.rows == expected && again.decided.size == 1, again.plan)
    (again.decided.head.decision, read.records)
  }

  private def joined(format: String, dimension: String, key: String, where: String = ""): String =
    s"SELECT count(*), sum(v), max(pad) FROM ${named(format)} f JOIN $dimension d ON f.$key = d.$key $where"

  private def code(decision: JsonNode): String = decision.at("/filterReason/code").textValue

  for ((format, key) <- Extent.some(sample = 9)(Formats.flatMap(format => Keys.map { case (key, _) => format -> key })))
    test(s"$format: keys of $key in two of $Files files leave the others unread, keys in all of them make no filter") {
      val (near, read) = decided(joined(format, "near", key))
      assert(code(near) == "FILTER_PAYS" && read <= 3 * RowsOfFile + 42, near)
      assert(near.at("/facts/probe/keyless/share").asDouble > 0.7 && near.at("/facts/probe/keyless/bytes").asLong > (4 << 20), near)
      val (spread, all) = decided(joined(format, "spread", key))
      assert(!spread.get("buildFilter").asBoolean && spread.at("/facts/probe/keyless").isNull && all >= Rows, spread)
    }

  for (format <- Formats)
    test(s"$format: small files without a key are worth a filter where none of them is opened") {
      val (files, name) = (150, s"${format}_small")
      withConf("spark.aqePlugin.mode" -> "off") {
        val small = spark.range(0, files * 100L, 1, files).selectExpr("CAST(id AS int) AS k", "id AS v")
        if (format == "iceberg") small.writeTo(s"ice.$name").using("iceberg").tableProperty("write.distribution-mode", "none").create()
        else small.write.format(format).save(folder.resolve(name).toString)
      }
      table("few", "SELECT CAST(id AS int) AS k FROM range(700, 710)")
      val facts = if (format == "iceberg") s"ice.$name" else s"$format.`file://${folder.resolve(name)}`"
      val query = s"SELECT count(*), sum(v) FROM $facts f JOIN few d ON f.k = d.k"
      val (decision, read) = decided(query)
      // Readers of plain files open each, whatever they are asked for.
      if (format == "parquet" || format == "orc") assert(code(decision) != "FILTER_PAYS", decision)
      else {
        assert(code(decision) == "FILTER_PAYS" && decision.at("/facts/probe/keyless/files").asLong > 120 && read <= 5 * 100, decision)
        withConf("spark.aqePlugin.cost.fileOpenNanos" -> "0") {
          val (withoutPrice, all) = decided(query)
          assert(code(withoutPrice) != "FILTER_PAYS" && all >= files * 100, withoutPrice)
        }
      }
    }

  for (format <- Formats)
    test(s"$format: files that a condition of the query leaves out are no gain of the filter") {
      val (decision, _) = decided(joined(format, "last", "k_int", s"WHERE f.k_int >= ${Rows - RowsOfFile}"))
      assert(decision.at("/facts/probe/keyless").isNull && code(decision) != "FILTER_PAYS", decision)
    }

  // Beyond ASCII, and longer than what is kept of bounds, which is in all files the same.
  for ((format, begin) <- Extent.some(sample = 4)(Formats.flatMap(format => Seq(format -> "ö", format -> "the same beginning"))))
    test(s"$format: of texts like $begin, bounds tell the price nothing") {
      val text = s"concat('$begin', lpad(v, 9, '0'))"
      val name = s"${format}_${begin.length}"
      withConf("spark.aqePlugin.mode" -> "off") {
        val facts = spark.sql(s"SELECT $text AS k, v, pad FROM ${named("parquet")}").repartitionByRange(Files, col("k"))
        if (format == "iceberg") facts.writeTo(s"ice.$name").using("iceberg").tableProperty("write.distribution-mode", "none").create()
        else facts.write.format(format).save(folder.resolve(name).toString)
      }
      table("texts", s"SELECT $text AS k FROM (SELECT id AS v FROM range($Rows)) WHERE v BETWEEN 7000 AND 7020")
      val facts = if (format == "iceberg") s"ice.$name" else s"$format.`file://${folder.resolve(name)}`"
      val query = s"SELECT count(*), sum(v), max(pad) FROM $facts f JOIN texts d ON f.k = d.k"
      val (decision, _) = decided(query)
      assert(decision.at("/facts/probe/keyless").isNull, decision)
      // Delta keeps more of texts than the price knows.
      if (format == "delta" && begin != "ö") {
        def read = withConf("spark.aqePlugin.test.openGates" -> "true")(decided(query)._2)
        assert(read < Rows / 4)
      }
    }

  test("keys are asked for once bounds of several files are known") {
    def areAsked(files: Int): Boolean = {
      val path = folder.resolve(s"of_$files").toString
      spark.range(0, 20000, 1, files).selectExpr("id", s"$Pad AS pad").write.parquet(path)
      val scan = spark.read.parquet(path).queryExecution.sparkPlan.collectFirst { case scan: FileSourceScanExec => scan }
        .getOrElse(fail("no scan"))
      eventually(timeout(Span(10, Seconds)))(assert(FooterStatistics.of(scan).exists(_.rows.isDefined)))
      val asked = new AtomicBoolean
      assert(FileSamples.of(scan, scan.output.take(1), DataFiles(files.toLong, 1L)).flatMap(_.without { asked.set(true); None }).isEmpty)
      asked.get
    }
    assert(!areAsked(4) && areAsked(12))
  }

  test("iceberg: files that partitions leave out are counted once") {
    withConf("spark.aqePlugin.mode" -> "off") {
      val _ = spark.sql(
        s"CREATE TABLE ice.parts USING iceberg PARTITIONED BY (truncate($RowsOfFile, k_int)) AS SELECT k_int, v, pad FROM ice.facts"
      )
    }
    val (decision, _) = decided("SELECT count(*), sum(v), max(pad) FROM ice.parts f JOIN near d ON f.k_int = d.k_int")
    assert(decision.at("/facts/probe/prunableBytes").asLong > 0 && decision.at("/facts/probe/keyless").isNull, decision)
  }
}
