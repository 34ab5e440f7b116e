package io.aqeplugin.e2e

import org.apache.spark.sql.{DataFrame, SparkSession}

/** Small tables with one column per key type, all computed from one integer, in several shapes and formats. */
object JoinTables {

  /** A way to join `p` and `b` on a key.
    *
    * @param key
    *   the condition, between the aliases `p` and `b`
    * @param column
    *   the key of either side, for `IN`
    * @param supported
    *   whether a filter supports the key
    * @param hashed
    *   whether Spark can join on it by hash
    */
  final case class Key(
      name: String,
      key: String,
      probeColumn: String,
      buildColumn: String,
      supported: Boolean,
      hashed: Boolean = true
  )

  private def column(name: String): Key = Key(name, s"p.k_$name = b.k_$name", s"p.k_$name", s"b.k_$name", supported = true)
  private def unsupported(key: Key): Key = key.copy(supported = false)

  val Keys: Seq[Key] = Seq(
    column("int"),
    column("tinyint"),
    column("smallint"),
    column("bigint"),
    Key("int and bigint", "p.k_int = b.k_bigint", "p.k_int", "b.k_bigint", supported = true),
    Key("bigint and tinyint", "p.k_bigint = b.k_tinyint", "p.k_bigint", "b.k_tinyint", supported = true),
    column("date"),
    column("timestamp"),
    column("timestamp_ntz"),
    column("decimal7"),
    column("decimal30"),
    column("string"),
    column("boolean"),
    Key(
      "(int, string)",
      "p.k_int = b.k_int AND p.k_tag = b.k_tag",
      "named_struct('i', p.k_int, 's', p.k_tag)",
      "named_struct('i', b.k_int, 's', b.k_tag)",
      supported = true
    ),
    Key("(smallint, int)", "p.k_smallint = b.k_smallint AND p.k_int = b.k_int", "p.k_int", "b.k_int", supported = true),
    column("double"),
    column("binary"),
    Key("struct field", "p.k_struct.f = b.k_struct.f", "p.k_struct.f", "b.k_struct.f", supported = true),
    unsupported(Key("expression", "p.k_int + 1 = b.k_int + 1", "p.k_int + 1", "b.k_int + 1", supported = false)),
    Key(
      "collated string",
      "collate(p.k_string, 'UTF8_LCASE') = collate(b.k_string, 'UTF8_LCASE')",
      "collate(p.k_string, 'UTF8_LCASE')",
      "collate(b.k_string, 'UTF8_LCASE')",
      supported = true,
      hashed = false
    )
  )

  /** The distribution of the build side: the integers from which its keys are computed. */
  sealed abstract class Shape(val name: String, val numbers: Seq[Option[Int]])

  object Shape {
    case object Mixed extends Shape("mixed", (0 until 30).flatMap(i => Seq(Some(i), Some(i), if (i % 7 == 0) None else Some(-i))))
    case object AllNull extends Shape("all_null", Seq.fill(12)(None))
    case object Empty extends Shape("empty", Nil)
    case object OneRow extends Shape("one_row", Seq(Some(7)))
    case object Skewed extends Shape("skewed", Seq.fill(20)(Some(7)) ++ (0 until 10).map(Some(_)))
    case object AllMatch extends Shape("all_match", (-60 to 60).map(Some(_)))
    case object NoneMatch extends Shape("none_match", (80 to 100).map(Some(_)))
    val All: Seq[Shape] = Seq(Mixed, AllNull, Empty, OneRow, Skewed, AllMatch, NoneMatch)
  }

  /** A tenth null, a third one heavy key, the rest spread over 121 keys; in most shapes, three of four keys have no partner. */
  private val ProbeNumbers: Seq[Option[Int]] = (0 until 400).map { id =>
    if (id % 10 == 0) None else if (id % 10 < 4) Some(7) else Some(id % 121 - 60)
  }

  /** How tables are stored: columnar files, row-based files, or rows of the query itself. */
  val Formats: Seq[String] = Seq("parquet", "orc", "json", "local")

  def probe(format: String): String = s"probe_$format"
  def build(shape: Shape, format: String): String = s"build_${shape.name}_$format"

  /** Writes all tables in all formats and registers them. */
  def register(spark: SparkSession, folder: String): Unit = {
    val probe = rows(spark, ProbeNumbers)
    keep(spark, probe, folder, this.probe, files = 2)
    Shape.All.foreach(shape => keep(spark, rows(spark, shape.numbers), folder, build(shape, _), files = 1))
  }

  private def rows(spark: SparkSession, numbers: Seq[Option[Int]]): DataFrame = {
    import spark.implicits._
    numbers.zipWithIndex.toDF("x", "id").selectExpr(
      "id",
      "x AS k_int",
      "CAST(x AS tinyint) AS k_tinyint",
      "CAST(x AS smallint) AS k_smallint",
      "CAST(x AS bigint) AS k_bigint",
      "date_add(DATE'1969-12-20', x) AS k_date",
      "TIMESTAMP'1969-12-31 12:00:00.000001' + make_dt_interval(0, x) AS k_timestamp",
      "TIMESTAMP_NTZ'1969-12-31 12:00:00.000001' + make_dt_interval(0, x) AS k_timestamp_ntz",
      "CAST(x + 0.25BD AS decimal(7, 2)) AS k_decimal7",
      "CAST(x * 12345678901234567890.1234BD AS decimal(30, 4)) AS k_decimal30",
      "'key-' || x AS k_string",
      "x % 2 = 0 AS k_boolean",
      "CASE WHEN x % 3 = 0 THEN NULL ELSE 'tag-' || (id % 4) END AS k_tag",
      "CAST(x AS double) / 2 AS k_double",
      "CAST('key-' || x AS binary) AS k_binary",
      "named_struct('f', x) AS k_struct"
    )
  }

  private def keep(spark: SparkSession, frame: DataFrame, folder: String, name: String => String, files: Int): Unit = {
    val local = frame.collectAsList()
    val schema = frame.schema
    Formats.foreach {
      case "local" => spark.createDataFrame(local, schema).createOrReplaceTempView(name("local"))
      case format  =>
        val path = s"$folder/${name(format)}"
        spark.createDataFrame(local, schema).repartition(files).write.format(format).save(path)
        spark.read.schema(schema).format(format).load(path).createOrReplaceTempView(name(format))
    }
  }
}
