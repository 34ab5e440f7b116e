package io.aqeplugin.regression

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** Below the null-supplying side of an outer join, the right side of an anti join or an aggregate, a filter produces rows that would not
  * exist without it. A join further up dropped them, but a division on the way had already failed the query.
  */
class ExposedErrorsSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.ansi.enabled" -> "true")

  // No key goes through an explode, so these rows stay.
  private val Zeros = "(SELECT explode(ks) AS k, zero, v FROM lists)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("lists", "SELECT array(CAST(id % 90 AS int)) AS ks, IF(id % 90 > 10, 0, 1) AS zero, id AS v FROM range(300)")
    table("others", "SELECT CAST(id AS int) AS ok, 1 AS one FROM range(11, 90)")
    table("ones", "SELECT CAST(id % 90 AS int) AS k, 1 AS one FROM range(300)")
    // Each key has five rows, 4096 rows apart: one in each batch of the reader.
    table("spread", "SELECT CAST(id % 4096 AS int) AS k, CAST(1 AS bigint) AS one FROM range(0, 5 * 4096, 1, 1)")
    table("varied", "SELECT CAST(id % 4096 AS int) AS k, id div 4096 AS r FROM range(0, 5 * 4096, 1, 1)")
    table("minus", "SELECT CAST(id AS int) AS k, -9000000000000000000L AS x FROM range(100)")
    table("keys", "SELECT CAST(id AS int) AS kk FROM range(4096)")
    // Two rows without a partner have a key of `dim`, and 78 have none.
    table("alone", "SELECT CAST(IF(id < 2, 5 + id, 1000 + id) AS int) AS k, id AS v FROM range(80)")
    table("partners", "SELECT CAST(id + 7 AS int) AS k FROM range(2)")
    table("bounds", "SELECT CAST(id + 5 AS int) AS low, CAST(id + 6 AS int) AS high, 1 AS one FROM range(2)")
    table("dim", "SELECT CAST(id + 5 AS int) AS dk FROM range(4)")
  }

  private def succeeds(what: String, probe: String): Unit = test(s"no division by zero above $what")(succeeds(probe))

  private def succeeds(probe: String) = {
    val result = sameRows(spark.sql(s"SELECT * FROM dim LEFT JOIN ($probe) p ON dk = p.k"))
    assert(result.rows.size >= 4)
  }

  // All rows have a partner, but with a filter on the partners.
  private val WithPartner = "(SELECT k, v, one FROM (SELECT explode(ks) AS k, v FROM lists) LEFT JOIN ones USING (k))"

  test("no overflow of a range frame's bounds above a left join") {
    succeeds(
      s"""SELECT k, count(*) OVER (PARTITION BY k ORDER BY coalesce(one, 9223372036854775807) RANGE BETWEEN 1 PRECEDING AND 5 FOLLOWING) AS c
         |FROM $WithPartner""".stripMargin
    )
  }

  test("no negative frequency of a percentile above a left join") {
    succeeds(s"SELECT k, percentile(v, 0.5, coalesce(one, -1)) AS m FROM $WithPartner GROUP BY k")
  }

  test("no division by zero in a key of a broadcast join that the filter leaves out") {
    table("tens", "SELECT CAST(id + 5 AS int) AS dk, CAST(10 AS bigint) AS x FROM range(4)")
    val key = "10 DIV coalesce(p.one + p.v - p.v, 0)"
    val result = sameRows(spark.sql(s"SELECT /*+ BROADCAST(b) */ p.k FROM $WithPartner p JOIN tens b ON p.k = b.dk AND $key = b.x"))
    assert(result.rows.nonEmpty)
  }

  test("no division by zero in a group of which a filter whose key cannot be computed keeps a part") {
    table(
      "texts",
      "SELECT CAST(id % 4096 AS int) AS k, IF(id = 3 * 4096 + 9, 'x', CAST(id % 4096 AS string)) AS num, 1 AS one FROM range(0, 5 * 4096, 1, 1)"
    )
    val grouped = "SELECT k, sum(one) / (count(one) - 1) AS q FROM (SELECT * FROM texts WHERE num RLIKE '^[0-9]+$') t " +
      "JOIN (SELECT kk FROM keys WHERE kk < 2000) s ON CAST(t.num AS int) = s.kk GROUP BY k"
    val result = sameRows(spark.sql(s"SELECT * FROM ($grouped) g JOIN dim ON g.k = dk"))
    assert(result.rows.nonEmpty)
  }

  succeeds("an anti join", s"SELECT k, 10 / zero AS q FROM $Zeros LEFT ANTI JOIN others ON k = ok")
  succeeds("EXISTS under OR", s"SELECT k FROM $Zeros f WHERE EXISTS (SELECT 1 FROM others WHERE k = ok) OR 10 / zero > 5")
  succeeds("a left join", s"SELECT k, 10 / IF(ok IS NULL, zero, 1) AS q FROM $Zeros LEFT JOIN others ON k = ok")
  succeeds("a right join", s"SELECT k, 10 / IF(ok IS NULL, zero, 1) AS q FROM others RIGHT JOIN $Zeros f ON k = ok")
  succeeds(
    "a part of a group",
    s"SELECT k, sum(v) / sum(one) AS q FROM (SELECT k, one, one AS v FROM ones UNION ALL SELECT k, 0, v FROM $Zeros) GROUP BY k"
  )
  succeeds(
    "a group without the rows of an outer join",
    s"SELECT f.k, sum(v) / count(one) AS q FROM $Zeros f LEFT JOIN ones ON f.k = ones.k GROUP BY f.k"
  )
  succeeds(
    "a part of a window",
    s"SELECT k, v / sum(one) OVER (PARTITION BY k) AS q FROM (SELECT k, one, one AS v FROM ones UNION ALL SELECT k, 0, v FROM $Zeros)"
  )

  /** Runs a query with a filter that pauses for every other batch, if it may pause; the number of rows that were not checked. */
  private def uncheckedRows(probe: String, table: String = "spread"): Long = {
    def query = spark.sql(s"SELECT * FROM dim LEFT JOIN ($probe) p ON dk = p.k")
    val expected = withoutPlugin(query)
    val pauses = Seq("sampleBatches" -> "1", "maxPassRate" -> "0.0", "skipBatches" -> "1").map { case (key, value) =>
      s"spark.aqePlugin.filter.selfDisable.$key" -> value
    }
    val result = withConf(pauses :+ ("spark.aqePlugin.force" -> "*=filter"): _*)(ran(query))
    assert(result.rows == expected && filtered(result).contains(s"parquet-$table(k)"), result.plan)
    outcomes(result).map(_.path("rowsUnchecked").asLong).sum
  }

  test("a filter below groups never pauses if what is computed from a part of one could fail") {
    assert(uncheckedRows("SELECT k, sum(one) / (count(one) - 2) AS q FROM spread GROUP BY k") == 0)
    assert(uncheckedRows("SELECT k, one / (count(one) OVER (PARTITION BY k) - 2) AS q FROM spread") == 0)
  }

  test("a filter below groups pauses if nothing computed from a part of one could fail") {
    assert(uncheckedRows("SELECT k, sum(CAST(k AS bigint)) AS n, count(one) AS c FROM spread GROUP BY k") > 0)
  }

  test("a filter below groups that never pauses leaves other filters of the scan as they are") {
    val query = "SELECT k, sum(one) / (count(one) - 2) AS q FROM spread JOIN keys ON k = kk GROUP BY k"
    assert(uncheckedRows(query) > 0)
  }

  succeeds(
    "rows without a partner, which have one null for a key",
    "SELECT partners.k, first(v) AS f, sum(v) / (count(*) - 2) AS q FROM alone LEFT JOIN partners ON alone.k = partners.k GROUP BY partners.k"
  )
  succeeds(
    "groups of a union whose inputs both have the key",
    "SELECT k, sum(v) / (count(*) - 2) AS q FROM (SELECT k, v FROM alone UNION ALL SELECT k, one AS v FROM ones) GROUP BY k"
  )
  test("a filter below groups never pauses if a sum over a part of one could overflow") {
    assert(uncheckedRows("SELECT k, sum(one) AS n FROM spread GROUP BY k") == 0)
    assert(uncheckedRows("SELECT k, sum(one) OVER (PARTITION BY k) AS n FROM spread") == 0)
    assert(uncheckedRows("SELECT k, sum(CAST(k AS decimal(38, 28))) AS n FROM spread GROUP BY k") == 0)
    assert(uncheckedRows("SELECT k, sum(CAST(k AS decimal(20, 2))) AS n, avg(one) AS m FROM spread GROUP BY k") > 0)
  }

  test("a filter below groups never pauses if a function may fail on a part of one") {
    assert(uncheckedRows("SELECT k, corr(r, 2 * r) AS c FROM varied GROUP BY k", "varied") == 0)
    assert(uncheckedRows("SELECT k, max_by(one, k) AS c, stddev(one) AS d, count(DISTINCT one) AS e FROM spread GROUP BY k") > 0)
  }

  test("a sum of which only a part of the inputs of a union is filtered does not overflow") {
    spark.sql("SELECT CAST(id AS int) AS k, 9000000000000000000L - id % 2 AS x FROM range(100)").cache().createOrReplaceTempView("plus")
    val parts = Seq("minus", "plus", "plus").map(part => s"SELECT k, x FROM $part").mkString(" UNION ALL ")
    val result = sameRows(spark.sql(s"SELECT dk, s FROM dim JOIN (SELECT k, sum(x) AS s FROM ($parts) GROUP BY k) p ON dk = k"))
    assert(result.rows.size == 4)
  }

  test("no division by zero in the condition of a join by a range") {
    val groups = "SELECT k, count(*) AS c FROM spread GROUP BY k"
    sameRows(spark.sql(s"SELECT * FROM bounds JOIN ($groups) g ON k BETWEEN low AND high AND one / (c - 2) > 0"))
  }

  for (
    (what, probe) <- Seq(
      "of sums" -> "SELECT k, sum(one) AS n FROM ones GROUP BY k HAVING sum(one) > 1",
      "of averages of decimals" -> "SELECT k, 1.3BD * avg(CAST(one AS decimal(7, 2))) AS n FROM ones GROUP BY k",
      "of a quotient with a check" -> "SELECT k, CASE avg(one) WHEN 0 THEN NULL ELSE stddev(one) / avg(one) END AS n FROM ones GROUP BY k",
      "of halves" -> "SELECT k, sum(CAST(one AS decimal(7, 2)) / 2) AS n FROM ones GROUP BY k",
      "whose values are compared" -> "SELECT k, coalesce(max(ok), 0) AS n FROM ones LEFT JOIN others ON k = ok GROUP BY k"
    )
  ) test(s"keys go through an aggregate $what, above which nothing can fail") {
    val result = sameRows(spark.sql(s"SELECT * FROM dim LEFT JOIN ($probe) p ON dk = p.k"))
    assert(filtered(result).contains("parquet-ones(k)"), result.plan)
  }
}
