package io.aqeplugin.regression

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.types._
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** Predicates that nobody wrote do not reach sources that compare in another way than Spark. */
class InferredPushdownSuite extends AnyFunSuite with PluginSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("l", "SELECT id AS k, CAST(id % 9 AS int) AS part FROM range(3000)")
  }

  private def written(name: String, format: String, query: String): String = {
    val path = folder.resolve(name).toString
    withConf("spark.aqePlugin.mode" -> "off")(spark.sql(query).coalesce(2).write.format(format).save(path))
    path
  }

  /** The same rows, at least one of which has a partner. */
  private def sameWith(column: String, first: String, second: String): DataFrame = {
    val frame = spark.sql(
      s"SELECT l.k, r.k AS partner FROM l RIGHT JOIN r ON l.k = r.k WHERE (l.part = 3 AND r.$column = $first) OR (l.part = 4 AND r.$column = $second)"
    )
    assert(sameRows(frame).rows.nonEmpty, column)
    frame
  }

  private val Values = "SELECT id AS k, CAST(id % 50 AS int) AS i, CAST(id % 50 + 256 AS int) AS b, CAST(id % 50 + 65536 AS int) AS h, " +
    "CAST(id % 50 AS decimal(9, 2)) AS d, date_add(DATE'2024-01-01', CAST(id % 50 AS int)) AS day, CAST(id % 50 AS string) AS s, " +
    "IF(id % 50 = 3, CAST('-0.0' AS double), 1.0D) AS f FROM range(3000)"

  test("Parquet integers that Spark cuts to a narrow column are not compared uncut") {
    val path = written("narrow", "parquet", Values)
    spark.read.schema("k bigint, b byte, h short").parquet(path).createOrReplaceTempView("r")
    sameWith("b", "3", "4")
    sameWith("h", "3", "4")
  }

  test("a Parquet column that is read by its field id is not compared by its name") {
    val ids = Seq("k" -> 0, "x" -> 1, "y" -> 2)
    def schema(names: String*): StructType =
      StructType(names.zip(ids).map { case (name, (_, id)) =>
        val metadata = new MetadataBuilder().putLong("parquet.field.id", id.toLong).build()
        StructField(name, if (id == 0) LongType else IntegerType, nullable = true, metadata)
      })
    val path = folder.resolve("ids").toString
    val rows = spark.sql("SELECT id AS k, CAST(id % 50 AS int) AS x, 7 AS y FROM range(3000)")
    withConf("spark.aqePlugin.mode" -> "off")(spark.createDataFrame(rows.rdd, schema("k", "x", "y")).coalesce(2).write.parquet(path))
    withConf("spark.sql.parquet.fieldId.read.enabled" -> "true") {
      spark.read.schema(schema("k", "y", "x")).parquet(path).createOrReplaceTempView("r")
      sameWith("y", "3", "4")
    }
  }

  test("an ORC column of another type in the files is not compared with the table's") {
    val path = written("orc", "orc", Values)
    for ((column, kind, first, second) <- Seq(("i", "string", "'3'", "'4'"), ("s", "int", "3", "4"))) {
      spark.read.schema(s"k bigint, $column $kind").orc(path).createOrReplaceTempView("r")
      sameWith(column, first, second)
    }
  }

  test("a negative zero in a file equals a zero") {
    spark.read.parquet(written("zeros", "parquet", Values)).createOrReplaceTempView("r")
    sameWith("f", "0.0D", "2.0D")
  }

  private def listed(literals: Seq[String]): String = literals.mkString("(", ", ", ")")

  private def sameRowsOfR(first: String, second: String, rows: Int): Assertion = {
    val query = s"SELECT l.k, r.* FROM l RIGHT JOIN r ON l.k = r.k WHERE (l.part = 3 AND r.$first) OR (l.part = 4 AND r.$second)"
    assert(sameRows(spark.sql(query)).rows.size == rows)
  }

  test("times that a source cannot have are not compared in a long list either") {
    withConf(
      "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
      "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS"
    ) {
      val rows = "SELECT id AS k, TIMESTAMP'1582-10-10 12:00:00' + make_dt_interval(0, 0, 0, id) AS ts FROM range(12)"
      spark.read.parquet(written("gap", "parquet", rows)).createOrReplaceTempView("r")
    }
    def times(minute: Int): Seq[String] = (0 until 12).map(second => f"TIMESTAMP'1582-10-10 12:0$minute%d:$second%02d'")
    sameRowsOfR(s"ts IN ${listed(times(0))}", s"ts IN ${listed(times(1))}", rows = 1)
    sameRowsOfR(s"ts IN ${listed(times(0) :+ "timestamp_micros(-9223372036854775808)")}", s"ts IN ${listed(times(1))}", rows = 1)
  }

  test("a bound is not cut to the milliseconds of a file") {
    def one(name: String, unit: String, time: String): Unit = withConf("spark.sql.parquet.outputTimestampType" -> s"TIMESTAMP_$unit") {
      spark.read.parquet(written(s"times_$name", "parquet", s"SELECT 1L AS k, TIMESTAMP'2024-01-01 00:00:00.$time' AS ts"))
        .createOrReplaceTempView(name)
    }
    one("in_millis", "MILLIS", "001")
    one("in_micros", "MICROS", "0012")
    val query =
      "SELECT m.k, r.ts FROM in_micros m JOIN in_millis r ON m.k = r.k AND r.ts <= m.ts WHERE m.ts < TIMESTAMP'2024-01-01 00:00:00.0015'"
    assert(sameRows(spark.sql(query)).rows.size == 1)
  }

  test("NaN of a cached table is greater than every number") {
    val cached = spark.sql("SELECT id AS k, IF(id = 3, double('NaN'), 1.0D) AS x FROM range(100)").coalesce(1).cache()
    try {
      assert(cached.count() == 100)
      cached.createOrReplaceTempView("r")
      sameRowsOfR("x > 5D", "x > 7D", rows = 1)
    } finally {
      val _ = cached.unpersist(blocking = true)
    }
  }

  test("a predicate that is checked in each row still prunes partitions") {
    val path = folder.resolve("parts").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(
        "SELECT id AS k, CAST(id % 50 AS byte) AS b, CAST(id % 5 AS int) AS p FROM range(3000)"
      ).write.partitionBy("p").parquet(path)
    }
    spark.read.parquet(path).createOrReplaceTempView("r")
    val query =
      "SELECT * FROM l RIGHT JOIN r ON l.k = r.k WHERE (l.part = 3 AND r.b = 3 AND r.p = 3) OR (l.part = 4 AND r.b = 4 AND r.p = 4)"
    val result = sameRows(spark.sql(query))
    val scans = collectWithSubqueries(result.plan) { case scan: FileSourceScanExec if scan.relation.partitionSchema.nonEmpty => scan }
    assert(scans.nonEmpty && scans.forall(_.selectedPartitions.partitionCount == 2), result.plan)
  }
}
