package io.aqeplugin.e2e

import com.fasterxml.jackson.databind.JsonNode
import org.scalatest.funsuite.AnyFunSuite

/** What a finished build side says of keys whose equality is not that of their bytes, or that are no columns of a table of their own. */
class SketchedTypesSuite extends AnyFunSuite with PluginSession {

  private val NoBroadcast =
    Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1")

  // How rows come to a sketch: in batches of the scan, in generated code, and one by one.
  private val Ways = Seq(
    "batches" -> ("true", Seq.empty),
    "generated code" -> ("abs(id) < 1000000", Seq.empty),
    "rows" -> ("abs(id) < 1000000", Seq("spark.sql.codegen.wholeStage" -> "false"))
  )

  private val Copies = 5

  private case class Said(rows: Int, nulls: Int, distinct: Int, ends: Option[(Long, Long)] = None)

  private val Field = "named_struct('b', k, 'c', id) AS a"

  /** @param stored
    *   what is written of the key `k`
    */
  private def write(name: String, sqlType: String, values: Seq[String], copies: Int, stored: String): Unit = {
    val all = values.map(value => s"CAST($value AS $sqlType)").mkString(", ")
    table(name, s"SELECT id, $stored FROM (SELECT id, explode(array($all)) AS k FROM range($copies)) t", files = 2)
  }

  private def keysSaid(ran: Ran): Said = {
    val build = ran.decided.headOption.getOrElse(fail(s"no decision in\n${ran.plan}")).decision.path("facts").path("build")
    val keys = build.path("keys")
    def number(node: JsonNode): Option[Long] = if (node.isIntegralNumber) Some(node.longValue) else None
    Said(
      build.path("rows").asInt,
      number(keys.path("nulls")).fold(-1)(_.toInt),
      number(keys.path("distinct")).fold(-1)(_.toInt),
      number(keys.path("min")).zip(number(keys.path("max")))
    )
  }

  private def says(
      name: String,
      sqlType: String,
      build: Seq[String],
      distinct: Int,
      ends: Option[(Long, Long)] = None,
      stored: String = "k",
      key: String = "k AS f"
  ): Unit = test(s"$name: the sketch says how many rows, nulls and different keys there are, and the rows are the same") {
    write("probe", sqlType, build, copies = 60, "k")
    // The side with more rows is filtered; these have no partner.
    val nullKeys = s"SELECT * FROM probe UNION ALL SELECT id, CAST(NULL AS $sqlType) FROM range(20000)"
    table("larger_probe", nullKeys, files = 2)
    write("build", sqlType, build, Copies, stored)
    val keys = s"(SELECT id, $key FROM build)"
    val nulls = build.count(_ == "NULL") * Copies
    for ((way, (predicate, conf)) <- Ways) withClue(way) {
      // Of the preserved side, Spark does not remove the nulls.
      val ran = withConf(NoBroadcast ++ conf: _*) {
        sameRows(spark.sql(s"SELECT p.id, b.* FROM probe p RIGHT JOIN (SELECT * FROM $keys WHERE $predicate) b ON p.k = b.f"))
      }
      assert(keysSaid(ran) == Said(build.size * Copies, nulls, distinct, ends), ran.plan)
    }
    val inner = withConf(NoBroadcast: _*)(sameRows(spark.sql(s"SELECT p.id, b.* FROM larger_probe p JOIN $keys b ON p.k = b.f")))
    // Of collated keys, Spark does not remove the nulls here either.
    val said = keysSaid(inner)
    assert(said.copy(rows = said.rows - said.nulls, nulls = 0) == Said(build.size * Copies - nulls, 0, distinct, ends), inner.plan)
    assert(filtered(inner) == Seq("parquet-larger_probe(k)") && inner.rows.nonEmpty, inner.plan)
  }

  // Lower case makes 'STRASSE' no 'straße'; a space at the end counts.
  says(
    "strings in UTF8_LCASE",
    "STRING COLLATE UTF8_LCASE",
    Seq("'a'", "'A'", "'a '", "'straße'", "'STRASSE'", "'É'", "'é'", "''", "NULL"),
    6
  )
  says("strings without spaces at the end", "STRING COLLATE UTF8_BINARY_RTRIM", Seq("'a'", "'a '", "'A'", "''", "'  '", "NULL"), 3)
  says("strings in UNICODE_CI", "STRING COLLATE UNICODE_CI", Seq("'a'", "'A'", "'é'", "'E\u0301'", "'b'", "NULL"), 3)
  says("strings compared byte by byte", "STRING", Seq("'a'", "'A'", "'a '", "'é'", "'e\u0301'", "NULL"), 5)

  says("doubles", "DOUBLE", Seq("0.0D", "-0.0D", "'NaN'", "-double('NaN')", "1.5D", "'-Infinity'", "4.9E-324D", "NULL"), 5)
  says("floats", "FLOAT", Seq("0.0F", "-0.0F", "'NaN'", "-float('NaN')", "0.1F", "NULL"), 3)

  says("decimals of up to 18 digits", "DECIMAL(12,2)", Seq("1.50", "1.5", "-5.25", "0", "-0.00", "NULL"), 3, Some(-525L -> 150L))
  says("wide decimals", "DECIMAL(30,2)", Seq("1.50", "1.5", "-5.25", "1234567890123456789012345678.91", "NULL"), 3)

  says("dates", "DATE", Seq("'1969-12-31'", "'1970-01-01'", "'2026-01-01'", "'0001-01-01'", "NULL"), 4, Some(-719162L -> 20454L))
  says("timestamps", "TIMESTAMP", Seq("'1970-01-01 00:00:00'", "'1969-12-31 23:59:59.999999'", "NULL"), 2, Some(-1L -> 0L))

  says("a field of a struct", "INT", Seq("1", "2", "-3", "NULL"), 3, Some(-3L -> 2L), Field, "a.b AS f")
  says(
    "a string field of a struct in a struct",
    "STRING COLLATE UTF8_LCASE",
    Seq("'x'", "'X'", "'y'", "NULL"),
    2,
    None,
    "named_struct('b', named_struct('k', k), 'c', id) AS a",
    "a.b.k AS f"
  )
  says("a column whose name has a dot", "INT", Seq("1", "2", "-3", "NULL"), 3, Some(-3L -> 2L), "k AS `a.b`", "`a.b` AS f")

  test("a field of a struct that the join itself takes out of the struct is sketched, and the rows are the same") {
    val values = Seq("1", "2", "-3", "NULL")
    write("probe", "INT", values, copies = 60, "k")
    write("build", "INT", values, Copies, Field)
    val ran = withConf(NoBroadcast: _*)(sameRows(spark.sql("SELECT p.id, b.* FROM probe p JOIN build b ON p.k = b.a.b")))
    assert(keysSaid(ran).distinct == 3 && filtered(ran).nonEmpty && ran.rows.nonEmpty, ran.plan)
  }
}
