package io.aqeplugin.e2e

import scala.util.Try

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** Keys whose equality is not that of their bytes, or is that of bytes without a type that orders them: a filter is built, and the rows
  * are those without the plugin.
  */
class KeyTypesSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.sql.timeType.enabled" -> "true")

  private val noBroadcast = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

  /** A table of one key column `k` beside `id`, each value many times. */
  private def write(name: String, dataType: DataType, values: Seq[Any], rows: Int, format: String): Unit = {
    val schema = StructType(Seq(StructField("id", LongType), StructField("k", dataType)))
    val path = folder.resolve(s"$format-$name").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      val data = (0 until rows).map(i => Row(i.toLong, values(i % values.size)))
      spark.createDataFrame(java.util.Arrays.asList(data: _*), schema).coalesce(1).write.mode("overwrite").format(format).save(path)
    }
    spark.read.schema(schema).format(format).load(path).createOrReplaceTempView(name)
  }

  private def filtersRightly(name: String, probe: (DataType, Seq[Any]), build: (DataType, Seq[Any]), formats: Seq[String]): Unit =
    test(s"$name: a filter, and the same rows") {
      for (format <- formats) withClue(format) {
        write("probe", probe._1, probe._2, 500, format)
        write("build", build._1, build._2, build._2.size, format)
        for (join <- Seq("JOIN", "LEFT SEMI JOIN")) withConf(noBroadcast) {
          val ran =
            sameRows(spark.sql(s"SELECT ${if (join == "JOIN") "p.*, b.id AS bid" else "p.*"} FROM probe p $join build b ON p.k = b.k"))
          assert(filtered(ran).nonEmpty && ran.rows.nonEmpty, s"$join\n${ran.plan}")
        }
        withConf(noBroadcast) {
          val grouped =
            sameRows(spark.sql("SELECT p.n, b.id FROM (SELECT k, count(*) AS n FROM probe GROUP BY k) p JOIN build b ON p.k = b.k"))
          assert(filtered(grouped).nonEmpty && grouped.rows.nonEmpty, grouped.plan)
        }
        val broadcast = sameRows(spark.sql("SELECT p.*, b.id AS bid FROM probe p JOIN build b ON p.k = b.k"))
        assert(broadcast.rows.nonEmpty)
      }
      withConf(noBroadcast) {
        val pair = sameRows(spark.sql("SELECT p.*, b.id AS bid FROM probe p JOIN build b ON p.k = b.k AND p.id % 7 = b.id % 7"))
        assert(pair.ended.nonEmpty)
      }
    }

  private val otherNaN = java.lang.Double.longBitsToDouble(0xfff8000000000123L)
  private val doubles: Seq[Any] =
    Seq(0.0, -0.0, 1.5, -1.5, Double.NaN, otherNaN, Double.PositiveInfinity, Double.NegativeInfinity, Double.MinPositiveValue, 0.1, null)
  private val floats: Seq[Any] =
    Seq(
      0.0f,
      -0.0f,
      1.5f,
      Float.NaN,
      java.lang.Float.intBitsToFloat(0xffc00123),
      Float.PositiveInfinity,
      Float.MinPositiveValue,
      0.1f,
      3.0f,
      null
    )
  private val columnar = Seq("parquet", "orc")
  private val parquet = Seq("parquet")

  filtersRightly("doubles", DoubleType -> doubles, DoubleType -> Seq(-0.0, otherNaN, 1.5, null), columnar)
  filtersRightly("doubles and a positive zero", DoubleType -> doubles, DoubleType -> Seq(0.0, Double.NaN, Double.NegativeInfinity), parquet)
  filtersRightly("floats", FloatType -> floats, FloatType -> Seq(-0.0f, Float.NaN, 0.1f, null), parquet)
  filtersRightly("a float and a double", FloatType -> floats, DoubleType -> Seq(0.0, otherNaN, 0.1, 0.1f.toDouble, 3.0), columnar)
  filtersRightly("a double and a float", DoubleType -> doubles, FloatType -> Seq(-0.0f, Float.NaN, 0.1f, 1.5f), parquet)

  private def bytes(values: String*): Seq[Any] = values.map(_.getBytes("UTF-8"))
  filtersRightly(
    "binaries",
    BinaryType -> (bytes("", "a", "A", "a ", "key of more than sixteen bytes", "\u0000", "\u0000\u0000") :+ null),
    BinaryType -> (bytes("", "a", "\u0000\u0000", "key of more than sixteen bytes") :+ null),
    columnar
  )
  filtersRightly("binaries of a row-based scan", BinaryType -> bytes("", "a", "b", "c"), BinaryType -> bytes("", "c"), Seq("json"))

  private def struct(fields: (String, DataType)*): StructType = StructType(fields.map { case (name, of) => StructField(name, of) })

  private def days(values: Int*): Seq[Any] = values.map(n => java.time.Duration.ofDays(n.toLong))
  private def months(values: Int*): Seq[Any] = values.map(java.time.Period.ofMonths(_))
  filtersRightly(
    "day-time intervals",
    DayTimeIntervalType() -> (days(-2, 0, 1, 2, 3) :+ null),
    DayTimeIntervalType() -> days(-2, 3),
    parquet
  )
  filtersRightly(
    "year-month intervals",
    YearMonthIntervalType() -> (months(-2, 0, 1, 14) :+ null),
    YearMonthIntervalType() -> months(-2, 14),
    parquet
  )

  // Spark 4.0 has no such type.
  private def time(precision: Int): Option[DataType] =
    Try(DataType.fromDDL(s"k TIME($precision)").asInstanceOf[StructType].head.dataType).toOption
  private def times(nanos: Long*): Seq[Any] = nanos.map(java.time.LocalTime.ofNanoOfDay)
  private val noon = 43200000000000L
  for (micros <- time(6); millis <- time(3); seconds <- time(0)) {
    val probe = times(0L, 1000L, noon, noon + 1000L, noon + 1000000L, 86399999999000L) :+ null
    filtersRightly("times", micros -> probe, micros -> (times(0L, noon + 1000L, 86399999999000L) :+ null), parquet)
    for ((name, key) <- Seq("milliseconds" -> millis, "seconds" -> seconds)) {
      val whole = times(0L, 1000000000L, noon, noon + 1000000000L, 86399000000000L) :+ null
      filtersRightly(s"times in $name", key -> whole, key -> times(noon, 86399000000000L), parquet)
    }
    filtersRightly(
      "structs of times",
      struct("a" -> micros) -> Seq(Row(java.time.LocalTime.NOON), Row(java.time.LocalTime.MIN), Row(null), null),
      struct("a" -> micros) -> Seq(Row(java.time.LocalTime.NOON), Row(null)),
      parquet
    )

    test("times of other precisions, beside another key, in partitions and in a cached table: rows go, and the others are the same") {
      write("probe", micros, probe, 500, "parquet")
      write("build", micros, times(noon, noon + 1000000L) :+ null, 3, "parquet")
      val path = folder.resolve("times").toString
      withConf("spark.aqePlugin.mode" -> "off")(spark.table("probe").write.mode("overwrite").partitionBy("k").parquet(path))
      spark.read.schema("id LONG, k TIME(6)").parquet(path).createOrReplaceTempView("partitioned")
      spark.sql("CACHE TABLE cached AS SELECT * FROM probe WHERE id >= 0")
      for (
        (probe, condition) <- Seq(
          "probe" -> "p.k = b.k AND p.id % 5 = b.id % 5",
          "probe" -> "CAST(p.k AS TIME(3)) = CAST(b.k AS TIME(3))",
          "probe" -> "p.k = CAST(CAST(b.k AS TIME(0)) AS TIME(6))",
          "probe" -> "CAST(p.k AS TIME(0)) = CAST(CAST(b.k AS TIME(3)) AS TIME(0))",
          "cached" -> "p.k = b.k"
        )
      ) withConf(noBroadcast) {
        val ran = sameRows(spark.sql(s"SELECT p.*, b.id AS bid FROM $probe p JOIN build b ON $condition"))
        assert(
          ran.rows.nonEmpty && outcomes(ran).exists(o => o.path("rowsIn").asLong > o.path("rowsOut").asLong),
          s"$condition\n${ran.plan}"
        )
      }
      withConf(noBroadcast) {
        val ran = sameRows(spark.sql("SELECT p.*, b.id AS bid FROM partitioned p JOIN build b ON p.k = b.k"))
        val scans = collect(ran.plan) { case scan: FileSourceScanExec if scan.relation.partitionSchema.nonEmpty => scan }
        assert(ran.rows.nonEmpty && scans.map(_.metrics("numPartitions").value) == Seq(2), ran.plan)
      }
    }
  }

  private def collated(name: String): DataType = DataType.fromDDL(s"k STRING COLLATE $name").asInstanceOf[StructType].head.dataType
  private val texts: Seq[Any] = Seq("a", "A", "a ", "A  ", "", "  ", "straße", "STRASSE", "é", "e\u0301", "i", "İ", "ı", "b", "c", null)
  for (name <- Seq("UTF8_LCASE", "UTF8_BINARY_RTRIM", "UNICODE", "UNICODE_CI_AI", "tr_CI"))
    filtersRightly(s"strings in $name", collated(name) -> texts, collated(name) -> Seq("A", "STRASSE", "e\u0301", "", "İ", null), parquet)

  filtersRightly(
    "structs with nulls inside",
    struct("a" -> LongType, "b" -> StringType) -> Seq(Row(1L, "x"), Row(1L, "y"), Row(1L, null), Row(null, "x"), Row(null, null), null),
    struct("a" -> LongType, "b" -> StringType) -> Seq(Row(1L, "x"), Row(null, "x"), Row(null, null), null),
    parquet
  )
  filtersRightly(
    "a null inside and the value that stands for it",
    struct("a" -> LongType) -> Seq(Row(0L), Row(null), Row(7L), null),
    struct("a" -> LongType) -> Seq(Row(null), null),
    parquet
  )
  filtersRightly(
    "structs of structs, of other names, and of what no filter holds",
    struct("a" -> struct("b" -> DoubleType, "c" -> ArrayType(IntegerType)), "d" -> StringType) ->
      Seq(
        Row(Row(-0.0, Seq(1)), "x"),
        Row(Row(0.0, Seq(1)), "x"),
        Row(Row(0.0, Seq(2)), "x"),
        Row(null, "x"),
        Row(Row(null, null), "x"),
        null
      ),
    struct("a" -> struct("b" -> DoubleType, "c" -> ArrayType(IntegerType)), "d" -> StringType) ->
      Seq(Row(Row(0.0, Seq(1)), "x"), Row(null, "x"), Row(Row(Double.NaN, Seq(1)), "x")),
    parquet
  )
  filtersRightly(
    "structs of a row-based scan",
    struct("a" -> LongType, "b" -> StringType) -> Seq(Row(1L, "x"), Row(2L, null), Row(3L, "z")),
    struct("a" -> LongType, "b" -> StringType) -> Seq(Row(2L, null), Row(3L, "y")),
    Seq("json")
  )

  test("a struct of arrays alone gets no filter") {
    write("probe", struct("a" -> ArrayType(LongType)), Seq(Row(Seq(1L)), Row(Seq(2L)), null), 500, "parquet")
    write("build", struct("a" -> ArrayType(LongType)), Seq(Row(Seq(2L))), 1, "parquet")
    val ran = withConf(noBroadcast)(sameRows(spark.sql("SELECT p.*, b.id AS bid FROM probe p JOIN build b ON p.k = b.k")))
    assert(filters(ran.plan).isEmpty && ran.rows.nonEmpty)
  }

  test("structs below outer and anti joins, and compared with null as a value") {
    write("probe", struct("a" -> LongType), Seq(Row(0L), Row(1L), Row(null), null), 400, "parquet")
    write("middle", LongType, Seq(0L, 3L), 2, "parquet")
    write("build", struct("a" -> LongType), Seq(Row(null), Row(1L), null), 3, "parquet")
    withConf(noBroadcast) {
      for (
        query <- Seq(
          "SELECT m.id, p.k, b.id AS bid FROM middle m LEFT JOIN probe p ON m.id = p.id JOIN build b ON p.k = b.k",
          "SELECT m.id, p.k, b.id AS bid FROM middle m LEFT JOIN probe p ON m.id = p.id RIGHT JOIN build b ON p.k = b.k",
          "SELECT p.* FROM probe p LEFT ANTI JOIN build b ON p.k = b.k",
          "SELECT b.*, p.id AS pid FROM build b LEFT JOIN probe p ON p.k = b.k",
          "SELECT p.*, b.id AS bid FROM probe p JOIN build b ON p.k <=> b.k"
        )
      ) assert(sameRows(spark.sql(query)).rows.nonEmpty, query)
    }
  }
}
