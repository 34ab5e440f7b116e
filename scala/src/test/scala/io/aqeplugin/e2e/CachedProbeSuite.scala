package io.aqeplugin.e2e

import org.apache.spark.scheduler.SparkListenerJobStart
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.storage.StorageLevel
import org.scalatest.funsuite.AnyFunSuite

/** A probe side that is a cached table gets filters as any scan does, and leaves out batches by their bounds. */
class CachedProbeSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.inMemoryColumnarStorage.batchSize" -> "100")

  private val Rows = 2000

  private val Columns =
    "id AS k, CAST(id AS int) AS narrow, concat('w', lpad(id, 6, '0')) AS word, DATE'2020-01-01' + CAST(id AS int) AS day, " +
      "CAST(id AS decimal(12, 2)) AS price, timestamp_seconds(id - 1000) AS at, CAST(id AS smallint) AS tiny, " +
      "nullif(id, id DIV 300 * 300) AS sparse, IF(id >= 500, NULL, id) AS gone, CAST(id AS double) AS x"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("rows", s"SELECT $Columns FROM range(0, $Rows, 1, 2)")
    // Three keys in three batches, with a null and one that no row has.
    table(
      "keys",
      "SELECT * FROM (SELECT " + Columns + " FROM range(0, 4) t(n) LATERAL VIEW explode(array(n * 800 + 5)) AS id) " +
        "UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
    )
    withConf("spark.aqePlugin.mode" -> "off") { val _ = spark.sql("CACHE TABLE facts AS SELECT * FROM rows") }
  }

  private def scanned(ran: Ran): Long = collectWithSubqueries(ran.plan) {
    case scan: InMemoryTableScanExec => scan.metrics("numOutputRows").value
  }.sum

  private def loads(ran: Ran): Int = ran.events.count {
    case start: SparkListenerJobStart => start.stageInfos.maxBy(_.stageId).rddInfos.maxBy(_.id).name.startsWith("In-memory table")
    case _                            => false
  }

  private def passed(ran: Ran): Seq[(Long, Long)] =
    outcomes(ran).map(o => o.path("rowsIn").asLong -> o.path("rowsOut").asLong)

  for (column <- Seq("k", "narrow", "word", "day", "price", "at", "tiny", "sparse"))
    test(s"a filter drops the rows of a cached table, and batches without a key of $column are not read") {
      val ran = sameRows(spark.sql(s"SELECT f.* FROM facts f JOIN keys d ON f.$column = d.$column"))
      assert(ran.rows.size == 3 && filtered(ran) == Seq(s"facts($column)"), ran.plan)
      assert(passed(ran) == Seq(300L -> 3L) && scanned(ran) == 300, ran.plan)
    }

  test("more keys than are compared one by one leave out the batches in the gaps between them") {
    table("many", "SELECT IF(id < 80, id, 1800 + id) AS k, concat('w', lpad(IF(id < 80, id, 1800 + id), 6, '0')) AS word FROM range(180)")
    for (column <- Seq("k", "word")) {
      val ran = sameRows(spark.sql(s"SELECT f.x FROM facts f JOIN many d ON f.$column = d.$column"))
      assert(ran.rows.size == 180 && scanned(ran) == 300, ran.plan)
    }
  }

  test("batches are left out by no keys of types whose values have no literals, and not where Spark's own switch is off") {
    val ofFractions = sameRows(spark.sql("SELECT f.k FROM facts f JOIN keys d ON f.x = d.x"))
    assert(ofFractions.rows.size == 3 && passed(ofFractions) == Seq(Rows.toLong -> 3L))
    withConf("spark.sql.inMemoryColumnarStorage.partitionPruning" -> "false") {
      val all = sameRows(spark.sql("SELECT f.x FROM facts f JOIN keys d ON f.k = d.k"))
      assert(scanned(all) == Rows && passed(all) == Seq(Rows.toLong -> 3L))
    }
  }

  test("a batch of nulls alone has no bounds, and no row with a partner") {
    val ran = sameRows(spark.sql("SELECT f.k, d.k FROM facts f JOIN keys d ON f.gone = d.gone"))
    assert(ran.rows.size == 1 && scanned(ran) == 100)
  }

  for (
    kind <- Seq("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI");
    order <- Seq("facts f %s JOIN keys d", "keys d %s JOIN facts f")
  )
    test(s"all rows of ${order.format(kind)}, sorted, hashed and broadcast") {
      val sides =
        if (kind.startsWith("LEFT ")) (if (order.startsWith("facts")) "f.k, f.word" else "d.k, d.word") else "f.k, f.word, d.k, d.word"
      for (hint <- Seq("MERGE(d)", "SHUFFLE_HASH(d)", "SHUFFLE_HASH(f)", "BROADCAST(d)"))
        sameRows(spark.sql(s"SELECT /*+ $hint */ $sides FROM ${order.format(kind)} ON f.k = d.k AND f.narrow = d.narrow"))
    }

  test("in front of a broadcast join") {
    val ran = sameRows(spark.sql("SELECT f.x FROM facts f JOIN (SELECT /*+ BROADCAST */ * FROM keys) d ON f.k = d.k"))
    assert(filtered(ran) == Seq("facts(k)") && scanned(ran) == 300, ran.plan)
  }

  test("below conditions, aliases and computed keys of the query's") {
    for (
      (condition, rows) <-
        Seq("f.a = d.k" -> 300L, "date_add(f.day, 1) = d.day" -> Rows.toLong, "CAST(f.a AS string) = CAST(d.k AS string)" -> Rows.toLong)
    ) {
      val ran =
        sameRows(spark.sql(s"SELECT f.b FROM (SELECT k AS a, day, x * 2 AS b FROM facts WHERE narrow > -1) f JOIN keys d ON $condition"))
      assert(filtered(ran).size == 1 && scanned(ran) == rows, (condition, ran.plan))
    }
  }

  test("a build side of several stages, and one that is cached too") {
    withConf("spark.aqePlugin.mode" -> "off") { val _ = spark.sql("CACHE TABLE dims AS SELECT k, k % 2 AS odd FROM keys") }
    for (
      build <-
        Seq("(SELECT k, count(*) AS n FROM keys GROUP BY k)", "dims", "(SELECT a.k FROM dims a JOIN keys b ON a.k + 1 = b.narrow + 1)")
    ) {
      val ran = sameRows(spark.sql(s"SELECT f.x, d.k FROM facts f JOIN $build d ON f.k = d.k"))
      assert(ran.rows.size == 3 && filtered(ran).contains("facts(k)") && scanned(ran) < Rows, (build, ran.plan))
    }
  }

  test("a table that the query itself loads is loaded once, and filtered") {
    for (where <- Seq("", "WHERE narrow >= 0"); build <- Seq("keys", "(SELECT k, count(*) AS n FROM keys GROUP BY k)")) {
      spark.sql("CACHE LAZY TABLE late AS SELECT k, x, narrow + 1 AS y, narrow FROM rows")
      try {
        val query = s"SELECT f.y, d.k FROM (SELECT k, y * 2 AS y FROM late $where) f JOIN $build d ON f.k = d.k"
        val ran = withPlugin(spark.sql(query))
        assert(loads(ran) == 1 && filtered(ran) == Seq("late(k)") && scanned(ran) == 300, ran.plan)
        assert(ran.rows == withoutPlugin(spark.sql(query)))
      } finally { val _ = spark.sql("DROP VIEW late") }
    }
  }

  test("each use of a cached table reads what it needs") {
    val ran = sameRows(spark.sql(
      "SELECT (SELECT count(*) FROM facts), (SELECT sum(f.x) FROM facts f JOIN keys d ON f.narrow = d.narrow), count(a.x), count(b.x) " +
        "FROM facts a JOIN keys d ON a.k = d.k JOIN facts b ON a.k + 100 = b.k"
    ))
    assert(ran.rows == Seq(s"[$Rows, 2415.0, 3, 3]"), ran.rows)
    val union = sameRows(spark.sql(
      "SELECT u.x, d.k FROM (SELECT k, x FROM facts UNION ALL SELECT narrow, x FROM facts) u JOIN keys d ON u.k = d.k"
    ))
    assert(union.rows.size == 6 && passed(union) == Seq(300L -> 3L, 300L -> 3L), union.plan)
  }

  test("blocks on disk, and blocks that were lost and are computed again") {
    val kept = spark.table("rows").persist(StorageLevel.DISK_ONLY)
    try {
      kept.createOrReplaceTempView("kept")
      assert(kept.count() == Rows)
      def joined = spark.sql("SELECT f.x FROM kept f JOIN keys d ON f.word = d.word")
      val expected = withoutPlugin(joined)
      assert(scanned(withPlugin(joined)) == 300)
      spark.sparkContext.getPersistentRDDs.values.foreach(_.unpersist(blocking = true))
      val again = withPlugin(joined)
      assert(again.rows == expected && expected.size == 3, again.plan)
    } finally { val _ = kept.unpersist() }
  }
}
