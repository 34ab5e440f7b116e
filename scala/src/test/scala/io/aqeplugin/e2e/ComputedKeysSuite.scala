package io.aqeplugin.e2e

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.execution.FileSourceScanExec
import org.scalatest.funsuite.AnyFunSuite

/** Keys that a join computes from a column: the filter computes them in the scan. */
class ComputedKeysSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.udf.register("plus_one", (n: Int) => n + 1)
    val ofEvents = Seq(
      "CAST(id AS int) AS id",
      "timestamp'2024-01-01 00:00:00' + make_dt_interval(0, CAST(id AS int) * 5) AS ts",
      "CASE WHEN id % 11 = 0 THEN NULL ELSE CAST(id % 90 AS int) END AS k",
      "CAST(id % 13 AS int) AS v",
      "CASE WHEN id % 7 = 0 THEN NULL WHEN id % 2 = 0 THEN 'Name' || (id % 50) ELSE 'nAME' || (id % 50) END AS txt",
      "CASE WHEN id % 5 = 0 THEN 'no number' ELSE CAST(id % 60 AS string) END AS num",
      "CASE id % 4 WHEN 0 THEN 0.0D WHEN 1 THEN -0.0D WHEN 2 THEN double('NaN') ELSE CAST(id % 30 AS double) END AS d",
      "named_struct('k', CAST(id % 80 AS int), 'other', 's' || id) AS s",
      "array(CAST(id % 70 AS int), 3) AS arr",
      "parse_json(CASE WHEN id % 9 = 0 THEN NULL WHEN id % 9 = 1 THEN '[]' ELSE '{\"k\": ' || (id % 90) || ', \"t\": \"Name' || (id % 50) || '!\", \"n\": {\"l\": [1, ' || (id % 30) || ']}}' END) AS j"
    )
    table("events", s"SELECT ${ofEvents.mkString(", ")} FROM range(600)", files = 2)
    table(
      "dim",
      """SELECT CAST(id + 5 AS int) AS dk, CASE WHEN id = 3 THEN NULL ELSE CAST(id + 5 AS int) END AS nk, CAST(id + 5 AS double) AS dd,
        |  date'2024-01-02' + CAST(id AS int) AS day, timestamp'2024-01-01 05:00:00' + make_dt_interval(0, CAST(id AS int)) AS hour,
        |  'NAME' || (id + 5) AS upper, 'name' || (id + 5) AS lower, 'Na' AS code, 'Name' || (id + 5) || '!' AS cry
        |FROM range(4)""".stripMargin
    )
    table("documents", "SELECT CAST(id AS int) AS id, parse_json('{\"k\": ' || (id + 5) || '}') AS j FROM range(4)")
    table("zero", "SELECT CAST(id AS int) AS zk, CAST(id AS string) || '.0' AS zt FROM range(3)")
    Seq(
      "CREATE TABLE padded (id INT, c CHAR(8)) USING parquet",
      "INSERT INTO padded SELECT CAST(id AS int), 'c' || (id % 40) FROM range(300)",
      "CREATE TABLE padded_dim (name STRING, c CHAR(8)) USING parquet",
      "INSERT INTO padded_dim SELECT 'n' || id, 'c' || (id + 5) FROM range(3)"
    ).foreach(spark.sql(_): Unit)
  }

  /** A filter with this key on the scan of a table, and the same rows, of which there are some. */
  private def isFilteredBy(what: String, query: String, scans: String*): Unit = test(s"$what: a filter, and the same rows") {
    val result = sameRows(spark.sql(query))
    assert(filtered(result).map(_.stripPrefix("parquet-")) == scans.sorted, result.plan)
    assert(result.rows.nonEmpty)
    assert(outcomes(result).exists(o => o.path("rowsIn").asLong > o.path("rowsOut").asLong), result.plan)
    val broadcast = withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m")(sameRows(spark.sql(query)))
    assert(broadcast.rows == result.rows)
  }

  private def isNotFiltered(what: String, query: String): Unit = test(s"$what: no filter on the scan, and the same rows") {
    val result = sameRows(spark.sql(query))
    assert(filtered(result).forall(_.startsWith("(shuffle)")), result.plan)
    assert(result.rows.nonEmpty)
  }

  private def joined(probe: String, build: String) = s"SELECT e.id, m.dk FROM events e JOIN dim m ON $probe = $build"

  isFilteredBy("the date of a timestamp", joined("CAST(e.ts AS date)", "m.day"), "events(CAST(ts AS DATE))")
  isFilteredBy("a truncated timestamp", joined("date_trunc('HOUR', e.ts)", "m.hour"), "events(date_trunc('HOUR', ts))")
  isFilteredBy("text in upper case", joined("upper(e.txt)", "m.upper"), "events(upper(txt))")
  isFilteredBy("text in lower case on both sides", joined("lower(e.txt)", "lower(m.upper)"), "events(lower(txt))")
  isFilteredBy("a part of a text", joined("substring(e.txt, 1, 2)", "m.code"), "events(substring(txt, 1, 2))")
  isFilteredBy("text with a suffix", joined("concat(e.txt, '!')", "m.cry"), "events(concat(txt, '!'))")
  isFilteredBy("a field of a struct", joined("e.s.k", "m.dk"), "events(s.`k`)")
  isFilteredBy("an element of an array", joined("e.arr[0]", "m.dk"), "events(arr[0])")
  isFilteredBy("a number as another type", joined("e.k", "m.dd"), "events(CAST(k AS DOUBLE))")
  isFilteredBy("an extraction from a variant", joined("variant_get(e.j, '$.k', 'int')", "m.dk"), "events(variant_get(j, '$.k'))")
  isFilteredBy("an extraction from a variant by a cast", joined("e.j:k::int", "m.dk"), "events(CAST(variant_get(j, '$.k') AS INT))")
  isFilteredBy("an extraction of a text", joined("try_variant_get(e.j, '$.t', 'string')", "m.cry"), "events(try_variant_get(j, '$.t'))")
  isFilteredBy("an extraction of an element", joined("e.j:n.l[1]::int", "m.dk"), "events(CAST(variant_get(j, '$.n.l[1]') AS INT))")
  isFilteredBy("a sum", joined("e.k + 1", "m.dk"), "events((k + 1))")
  isFilteredBy("a value in place of null", joined("coalesce(e.k, 6)", "m.dk"), "events(coalesce(k, 6))")
  isFilteredBy(
    "strings that the join compares without case",
    joined("collate(e.txt, 'UTF8_LCASE')", "collate(m.lower, 'UTF8_LCASE')"),
    "events(collate(txt, UTF8_LCASE))"
  )
  isFilteredBy(
    "a computed key beside a column",
    "SELECT e.id, m.dk FROM events e JOIN dim m ON upper(e.txt) = m.upper AND e.k = m.dk",
    "events(k,upper(txt))"
  )
  isFilteredBy(
    "a column beside a key that only a user's function computes",
    "SELECT e.id, m.dk FROM events e JOIN dim m ON e.k = m.dk AND plus_one(e.v) >= 0 AND plus_one(e.k) = plus_one(m.dk)",
    "events(k)"
  )
  isFilteredBy(
    "a key that a projection computes",
    "SELECT * FROM (SELECT id, upper(txt) AS u FROM events WHERE v > 2) JOIN (SELECT upper FROM dim) ON u = upper",
    "events(upper(txt))"
  )
  isFilteredBy(
    "a key computed of a grouping column",
    "SELECT * FROM (SELECT txt, count(*) AS n FROM events GROUP BY txt) JOIN (SELECT upper FROM dim) ON upper(txt) = upper",
    "events(upper(txt))"
  )
  isFilteredBy(
    "a computed grouping column",
    "SELECT * FROM (SELECT upper(txt) AS u, count(*) AS n FROM events GROUP BY upper(txt)) JOIN (SELECT upper FROM dim) ON u = upper",
    "events(upper(txt))"
  )
  isFilteredBy("CHAR columns", "SELECT p.id, d.name FROM padded p JOIN padded_dim d ON p.c = d.c", paddedKey)

  private def paddedKey = "spark_catalog.default.padded(c)"

  for (join <- Seq("JOIN", "LEFT SEMI JOIN", "RIGHT JOIN"))
    isFilteredBy(s"nulls that equal nulls, $join", s"SELECT e.id FROM events e $join dim m ON e.k <=> m.nk", "events(coalesce(k, 0))")

  test("nulls that equal nulls find partners") {
    val result = sameRows(spark.sql("SELECT e.k, m.nk FROM events e JOIN dim m ON e.k <=> m.nk"))
    assert(result.rows.contains("[null, null]") && filtered(result).nonEmpty)
  }

  isFilteredBy("INTERSECT", "SELECT k FROM events INTERSECT SELECT nk FROM dim", "events(coalesce(k, 0))")

  test("a build side has no null: null is no value of the filter, though a value stands in its place") {
    val result = sameRows(spark.sql("SELECT e.id FROM events e JOIN zero z ON e.k <=> z.zk"))
    assert(result.rows.nonEmpty && filtered(result).nonEmpty)
  }

  isNotFiltered("a key of two columns", joined("e.k + e.v", "m.dk"))
  isFilteredBy(
    "an extraction on the smaller side",
    "SELECT e.id, d.id FROM events e JOIN documents d ON e.k = variant_get(d.j, '$.k', 'int')",
    "events(k)"
  )
  isFilteredBy(
    "extractions on both sides",
    "SELECT e.id, d.id FROM events e JOIN documents d ON e.j:k::int = variant_get(d.j, '$.k', 'int')",
    "events(CAST(variant_get(j, '$.k') AS INT))"
  )
  isFilteredBy(
    "an extraction and what a projection extracts on the build side",
    "SELECT e.id, d.id FROM events e JOIN (SELECT DISTINCT id, j:k::int AS k FROM documents) d ON e.j:k::int = d.k",
    "events(CAST(variant_get(j, '$.k') AS INT))"
  )
  isNotFiltered("a user's function", joined("plus_one(e.v)", "m.dk"))

  private val outer =
    "SELECT a.id AS aid, b.* FROM (SELECT id FROM events WHERE v = 3) a LEFT JOIN (SELECT id, k FROM events WHERE v > 5) b ON a.id = b.id"
  isNotFiltered(
    "a value in place of a null that an outer join gave",
    s"SELECT * FROM ($outer) JOIN zero ON coalesce(k, 0) = zk"
  )
  test("the partner of an outer join's right column is no key when null has a value") {
    val result = sameRows(spark.sql(
      "SELECT * FROM (SELECT a.k AS ak, b.k AS bk FROM (SELECT k FROM events) a LEFT JOIN (SELECT DISTINCT k FROM events WHERE v > 11) b ON a.k = b.k) " +
        "JOIN zero ON coalesce(bk, 0) = zk"
    ))
    assert(result.rows.exists(_.contains("null")) && !filtered(result).exists(_.contains("events(coalesce")), result.plan)
  }

  isNotFiltered(
    "the text of a double that groups two zeros",
    "SELECT * FROM (SELECT CAST(d AS string) AS t, n FROM (SELECT d, count(*) AS n FROM events GROUP BY d)) JOIN zero ON t = zt"
  )
  isNotFiltered(
    "the case of a text in groups without case",
    "SELECT * FROM (SELECT collate(c, 'UTF8_BINARY') AS u, n FROM (SELECT c, count(*) AS n FROM (SELECT collate(txt, 'UTF8_LCASE') AS c FROM events) GROUP BY c)) " +
      "JOIN (SELECT lower FROM dim) ON lower(u) = lower"
  )

  test("a row whose key cannot be computed passes, and that is no fault") {
    val query = "SELECT e.id, m.dk FROM (SELECT * FROM events WHERE num RLIKE '^[0-9]+$') e JOIN dim m ON CAST(e.num AS int) = m.dk"
    withConf("spark.sql.ansi.enabled" -> "true") {
      val result = sameRows(spark.sql(query))
      val outcome = outcomes(result).head
      assert(outcome.path("rowsUnchecked").asLong > 0 && result.rows.nonEmpty, outcome)
    }
    withConf("spark.sql.ansi.enabled" -> "false") {
      val result = sameRows(spark.sql(query))
      val outcome = outcomes(result).head
      assert(outcome.path("rowsUnchecked").asLong == 0 && outcome.path("rowsOut").asLong < outcome.path("rowsIn").asLong, outcome)
    }
  }

  test("a row whose variant has no such number passes, and the query fails with the plugin where it fails without") {
    table(
      "mixed",
      "SELECT CAST(id AS int) AS id, parse_json(IF(id % 50 = 0, '{\"k\": \"x\"}', '{\"k\": ' || (id % 90) || '}')) AS j FROM range(2000)"
    )
    def query(key: String, condition: String) =
      spark.sql(s"SELECT e.id, m.dk FROM (SELECT * FROM mixed WHERE $condition) e JOIN dim m ON $key = m.dk")
    // Spark 4.3 would extract from all rows in the scan, and fail by itself.
    val some =
      withConf("spark.sql.variant.pushVariantIntoScan" -> "false")(sameRows(query("variant_get(e.j, '$.k', 'int')", "id % 50 <> 0")))
    assert(some.rows.nonEmpty && outcomes(some).exists(_.path("rowsUnchecked").asLong > 0), some.plan)
    val nulls = sameRows(query("try_variant_get(e.j, '$.k', 'int')", "id >= 0"))
    assert(nulls.rows.nonEmpty && outcomes(nulls).exists(o => o.path("rowsIn").asLong > o.path("rowsOut").asLong), nulls.plan)
    def built(condition: String) = spark.sql(s"SELECT e.id FROM events e JOIN (SELECT * FROM mixed WHERE $condition) d ON e.k = d.j:k::int")
    val before = sameRows(built("id BETWEEN 1 AND 9"))
    assert(before.rows.nonEmpty && filtered(before) == Seq("parquet-events(k)"), before.plan)
    for (failing <- Seq(query("e.j:k::int", "id >= 0"), built("id < 10"))) {
      def error(mode: (String, String)) = withConf(mode)(intercept[SparkThrowable](failing.select("*").collect()).getCondition)
      assert(error("spark.aqePlugin.test.openGates" -> "true") == error("spark.aqePlugin.mode" -> "off"))
    }
  }

  test("a key that fails the query without the plugin fails it with the plugin") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      def run(): Unit = { val _ = spark.sql("SELECT e.id, m.dk FROM events e JOIN dim m ON CAST(e.num AS int) = m.dk").collect() }
      withConf("spark.aqePlugin.mode" -> "off")(intercept[Exception](run()))
      withConf("spark.aqePlugin.test.openGates" -> "true")(intercept[Exception](run()))
    }
  }

  test("a row-based scan computes keys too") {
    table(
      "lines",
      "SELECT CAST(id AS int) AS id, CASE WHEN id % 7 = 0 THEN NULL ELSE 'Name' || (id % 50) END AS txt FROM range(300)",
      "json"
    )
    val result = sameRows(spark.sql("SELECT e.id FROM lines e JOIN dim m ON upper(e.txt) = m.upper"))
    assert(filtered(result) == Seq("json-lines(upper(txt))") && result.rows.nonEmpty, result.plan)
    val nullSafe =
      sameRows(spark.sql("SELECT e.id FROM lines e JOIN (SELECT nullif(upper, 'NAME7') AS u FROM dim) m ON upper(e.txt) <=> m.u"))
    assert(filtered(nullSafe).nonEmpty && nullSafe.rows.nonEmpty, nullSafe.plan)
  }

  test("copies of a shared exchange request equal computed keys") {
    val grouped = "SELECT upper(txt) AS u, count(*) AS n FROM events GROUP BY upper(txt)"
    val result = sameRows(spark.sql(s"WITH g AS ($grouped) SELECT a.u, b.n FROM g a JOIN g b ON a.u = b.u JOIN dim ON a.u = upper"))
    assert(result.rows.nonEmpty)
  }

  test("partitions whose computed value is no key are not read") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("SELECT CAST(id AS int) AS id, CAST(date'2024-01-01' + CAST(id % 20 AS int) AS string) AS dt FROM range(200)").write
        .partitionBy("dt").parquet(folder.resolve("daily").toString)
    }
    spark.read.schema("id INT, dt STRING").parquet(folder.resolve("daily").toString).createOrReplaceTempView("daily")
    for (key <- Seq("CAST(e.dt AS date)", "try_cast(e.dt AS date)")) {
      val result = sameRows(spark.sql(s"SELECT e.id, m.dk FROM daily e JOIN dim m ON $key = m.day"))
      val scans = collect(result.plan) { case scan: FileSourceScanExec if scan.output.exists(_.name == "dt") => scan }
      assert(result.rows.size == 40 && scans.map(_.metrics("numPartitions").value) == Seq(4), result.plan)
    }
  }
}
