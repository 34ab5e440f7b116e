package io.aqeplugin.e2e

import org.apache.iceberg.{PartitionSpec, Schema}
import org.apache.iceberg.catalog.TableIdentifier
import org.apache.iceberg.hadoop.HadoopCatalog
import org.apache.iceberg.types.Types
import org.apache.spark.sql.execution.{ColumnarToRowExec, SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.exec.{ColumnKeys, FilterSummary}
import io.aqeplugin.observe.TableStatistics
import io.aqeplugin.storage.ScanAdapter

/** Keys of a finished build side leave out partitions of Iceberg tables. Iceberg's scans forget for good what they were told to leave out. */
class IcebergKeysSuite extends AnyFunSuite with TableFormats {

  /** Ten days of a hundred rows, and a hundred rows without a day. */
  private val Rows =
    "SELECT id, CAST(nullif(id % 11, 10) AS int) AS day, CAST(id % 7 AS string) AS word, id * 2 AS v FROM range(1100)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    made(s"CREATE TABLE ice.db.sales USING iceberg PARTITIONED BY (day) AS $Rows")
    table("days", "SELECT CAST(id AS int) AS day, id < 3 AS few FROM range(10)")
  }

  private def scans(plan: SparkPlan, table: String): Seq[BatchScanExec] =
    collectWithSubqueries(plan) { case scan: BatchScanExec if scan.table.name().endsWith(table) => scan }

  /** The rows that came out of the scans of a table. */
  private def scanned(ran: Ran, table: String): Long = scans(ran.plan, table).map(_.metrics("numOutputRows").value).sum

  private def prunes(ran: Ran, table: String): Boolean = scans(ran.plan, table).exists(hasKeys)

  /** Whether a scan has keys as a runtime filter, or reads what was planned with them. */
  private def hasKeys(scan: BatchScanExec): Boolean = scan.runtimeFilters.nonEmpty || hasOwnSource(scan)

  private def hasOwnSource(scan: BatchScanExec): Boolean =
    scan.logicalLink.flatMap(_.collectFirst { case relation: DataSourceV2ScanRelation => relation.scan }).exists(_ ne scan.scan)

  private def joined(table: String, dimension: String = "(SELECT day FROM days WHERE few)"): String =
    s"SELECT count(*), sum(s.v), min(s.id), max(s.word) FROM $table s JOIN $dimension d ON s.day = d.day"

  test("a shuffled join reads the partitions of its keys alone") {
    val (expected, all) = reading(withoutPlugin(spark.sql(joined("ice.db.sales"))))
    val (ran, some) = reading(withPlugin(spark.sql(joined("ice.db.sales"))))
    assert(ran.rows == expected)
    assert(scanned(ran, "sales") == 300)
    // Spark leaves out the rows without a day.
    assert(all.records - some.records == 700)
    assert(some.bytes < all.bytes * 0.6, s"$some of $all")
    assert(scans(ran.plan, "sales").head.inputRDD.partitions.length <= 3)
  }

  test("the files of a table are planned once more with the keys, however often Spark plans the query again") {
    def planned(body: => Any): Int = {
      val before = PlannedScans.count.get
      val _ = body
      PlannedScans.count.get - before
    }
    assert(planned(withoutPlugin(spark.sql(joined("ice.db.sales")))) == 1)
    assert(planned(withPlugin(spark.sql(joined("ice.db.sales")))) == 2)
    table("ones", "SELECT 1 AS one")
    val later =
      s"SELECT o.one, sum(x.v) FROM (${joined("ice.db.sales").replace("sum(s.v)", "sum(s.v) AS v, 1 AS one")}) x JOIN ones o ON x.one = o.one GROUP BY o.one"
    assert(planned(withPlugin(spark.sql(later))) == 2)
  }

  test("the partition column of a key of several leaves out partitions") {
    table("pairs", "SELECT id, CAST(id % 11 AS int) AS day FROM range(200) WHERE id % 11 < 2")
    val query = "SELECT count(*), sum(s.v) FROM ice.db.sales s JOIN pairs d ON s.id = d.id AND s.day = d.day"
    val ran = sameRows(spark.sql(query))
    assert(prunes(ran, "sales") && scanned(ran, "sales") == 200)
  }

  test("texts leave out partitions") {
    made(
      "CREATE TABLE ice.db.worded USING iceberg PARTITIONED BY (truncate(2, word)) AS SELECT id, concat('w', id % 7, 'é') AS word, id AS v FROM range(700)"
    )
    table("words", "SELECT concat('w', id, 'é') AS word FROM range(2)")
    val ran = sameRows(spark.sql("SELECT count(*), sum(s.v), max(s.word) FROM ice.db.worded s JOIN words d ON s.word = d.word"))
    assert(prunes(ran, "worded") && scanned(ran, "worded") == 200)
  }

  test("UUIDs, which Spark reads as texts: a key that is no UUID fails no query") {
    val id = Types.NestedField.optional(1, "id", Types.UUIDType.get())
    val schema = new Schema(id, Types.NestedField.optional(2, "v", Types.LongType.get()))
    val catalog = new HadoopCatalog(spark.sparkContext.hadoopConfiguration, folder.resolve("ice").toString)
    val _ = catalog.createTable(TableIdentifier.of("db", "by_uuid"), schema, PartitionSpec.builderFor(schema).bucket("id", 4).build())
    val uuid = "concat('00000000-0000-0000-0000-00000000000', id % 8)"
    made(s"INSERT INTO ice.db.by_uuid SELECT $uuid, id FROM range(80)")
    table("some_uuids", s"SELECT IF(id = 2, 'n/a', $uuid) AS k FROM range(3)")
    table("only_uuids", s"SELECT $uuid AS k FROM range(3)")
    Seq("some_uuids", "only_uuids").foreach { keys =>
      val ran = sameRows(spark.sql(s"SELECT count(*), sum(s.v) FROM ice.db.by_uuid s JOIN $keys d ON s.id = d.k"))
      assert(filtered(ran) == Seq("ice.db.by_uuid(id)") && !prunes(ran, "by_uuid"))
    }
  }

  test("texts that nobody wrote a predicate on leave out no files: in Iceberg's statistics they are not in Spark's order") {
    made(
      "CREATE TABLE ice.db.odd USING iceberg AS SELECT /*+ COALESCE(1) */ id, IF(id = 0, CAST(X'80' AS string), concat('é', id)) AS word FROM range(9)"
    )
    table("few_ids", "SELECT id FROM range(9)")
    val query =
      "SELECT l.id, r.word FROM few_ids l RIGHT JOIN ice.db.odd r ON l.id = r.id WHERE (l.id = 3 AND r.word = 'é3') OR (l.id = 4 AND r.word = 'é4')"
    assert(sameRows(spark.sql(query)).rows.size == 2)
  }

  test("keys that are no partition column leave out files by their statistics") {
    val ran = sameRows(spark.sql("SELECT count(*), sum(s.v) FROM ice.db.sales s JOIN (SELECT day FROM days WHERE few) d ON s.id = d.day"))
    assert(filtered(ran) == Seq("ice.db.sales(id)"))
    assert(prunes(ran, "sales") && scanned(ran, "sales") == 300)
  }

  test("hundreds of keys are pushed one by one, also those beyond the column's type") {
    made(
      "CREATE TABLE ice.db.wide USING iceberg PARTITIONED BY (k) AS SELECT CAST(id % 300 AS int) AS k, id AS v FROM range(600)",
      "CREATE TABLE ice.db.buckets USING iceberg PARTITIONED BY (bucket(16, k)) AS SELECT id AS k, id AS v FROM range(1600)"
    )
    table("many", "SELECT id * 2 AS k FROM range(100)")
    val wide = sameRows(spark.sql("SELECT count(*), sum(s.v) FROM ice.db.wide s JOIN many d ON s.k = d.k"))
    assert(prunes(wide, "wide") && scanned(wide, "wide") == 200)
    table("beyond", "SELECT id * 2 + if(id = 99, 5000000000, 0) AS k FROM range(100)")
    assert(scanned(sameRows(spark.sql("SELECT count(*), sum(s.v) FROM ice.db.wide s JOIN beyond d ON s.k = d.k")), "wide") == 198)
    table("two", "SELECT id * 700 AS k FROM range(2)")
    val buckets = sameRows(spark.sql("SELECT count(*), sum(s.v) FROM ice.db.buckets s JOIN two d ON s.k = d.k"))
    assert(prunes(buckets, "buckets") && scanned(buckets, "buckets") < 400)
  }

  test("days of timestamps, decimals, and dates before 1582") {
    made(
      "CREATE TABLE ice.db.typed USING iceberg PARTITIONED BY (days(at), price, born) AS SELECT id AS v, " +
        "TIMESTAMP'2024-01-01 12:00:00' + make_interval(0, 0, 0, CAST(id % 4 AS int)) AS at, CAST(id % 3 AS decimal(9, 2)) AS price, " +
        "IF(id % 2 = 0, DATE'1500-01-01', DATE'2020-01-01') AS born FROM range(240)"
    )
    table("instants", "SELECT TIMESTAMP'2024-01-01 12:00:00' + make_interval(0, 0, 0, CAST(id AS int)) AS at FROM range(2)")
    table("prices", "SELECT CAST(1 AS decimal(9, 2)) AS price")
    table("births", "SELECT DATE'1500-01-01' AS born")
    for ((dimension, column, rows) <- Seq(("instants", "at", 120L), ("prices", "price", 80L), ("births", "born", 120L))) {
      val ran = sameRows(spark.sql(s"SELECT count(*), sum(s.v) FROM ice.db.typed s JOIN $dimension d ON s.$column = d.$column"))
      assert(scanned(ran, "typed") == rows, column)
    }
  }

  test("partitions by other columns, without columns, and of renamed and widened ones") {
    made(
      s"CREATE TABLE ice.db.grown USING iceberg AS $Rows",
      "ALTER TABLE ice.db.grown ADD PARTITION FIELD day",
      s"INSERT INTO ice.db.grown $Rows",
      "ALTER TABLE ice.db.grown ALTER COLUMN day TYPE bigint",
      s"INSERT INTO ice.db.grown $Rows",
      "ALTER TABLE ice.db.grown RENAME COLUMN day TO d",
      s"INSERT INTO ice.db.grown $Rows",
      "ALTER TABLE ice.db.grown ADD PARTITION FIELD word",
      "ALTER TABLE ice.db.grown DROP PARTITION FIELD d",
      s"INSERT INTO ice.db.grown $Rows"
    )
    val query = "SELECT count(*), sum(s.v), max(s.word) FROM ice.db.grown s JOIN (SELECT day FROM days WHERE few) d ON s.d = d.day"
    val ran = sameRows(spark.sql(query))
    // Two of the five copies are not partitioned by the column.
    assert(scanned(ran, "grown") == 2 * 1100 + 3 * 300)
  }

  test("deleted rows stay deleted, and an older version keeps them") {
    made(
      "CREATE TABLE ice.db.gone USING iceberg PARTITIONED BY (day) TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read') " +
        s"AS $Rows"
    )
    val before = spark.sql("SELECT snapshot_id FROM ice.db.gone.snapshots").head().getLong(0)
    made("DELETE FROM ice.db.gone WHERE id % 5 = 0")
    val today = sameRows(spark.sql(joined("ice.db.gone")))
    val earlier = sameRows(spark.sql(joined(s"ice.db.gone VERSION AS OF $before")))
    assert(today.rows != earlier.rows)
    assert(scanned(today, "gone") == 240 && scanned(earlier, "gone") == 300)
  }

  test("an older version whose columns have other names now") {
    made(
      "CREATE TABLE ice.db.renamed (id bigint, day int NOT NULL) USING iceberg PARTITIONED BY (day)",
      "INSERT INTO ice.db.renamed SELECT id, CAST(id % 10 AS int) FROM range(200)",
      "CREATE TABLE ice.db.swapped (id bigint, day int NOT NULL, z int NOT NULL) USING iceberg PARTITIONED BY (bucket(8, day), truncate(10, z))",
      "INSERT INTO ice.db.swapped SELECT id, CAST(id % 10 AS int), CAST(1000 + id % 3 * 50 AS int) FROM range(200)"
    )
    def versionOf(name: String): Long = spark.sql(s"SELECT snapshot_id FROM ice.db.$name.snapshots").head().getLong(0)
    val (renamed, swapped) = (versionOf("renamed"), versionOf("swapped"))
    made(
      "ALTER TABLE ice.db.renamed RENAME COLUMN day TO weekday",
      "ALTER TABLE ice.db.swapped RENAME COLUMN day TO weekday",
      "ALTER TABLE ice.db.swapped RENAME COLUMN z TO day"
    )
    def joined(version: String) =
      s"SELECT count(*), sum(s.id) FROM (SELECT * FROM ice.db.$version) s JOIN (SELECT day FROM days WHERE few) d ON s.day = d.day"
    assert(sameRows(spark.sql(joined(s"renamed VERSION AS OF $renamed"))).rows == Seq("[60, 5760]"))
    assert(sameRows(spark.sql(joined(s"swapped VERSION AS OF $swapped"))).rows == Seq("[60, 5760]"))
  }

  test("two scans of one table, of which one gets keys") {
    val selfJoin = "SELECT count(*), sum(a.v), sum(b.v) FROM ice.db.sales a JOIN (SELECT day FROM days WHERE few) d ON a.day = d.day " +
      "RIGHT JOIN ice.db.sales b ON a.id = b.id"
    assert(prunes(sameRows(spark.sql(selfJoin)), "sales"))
    val twice = "SELECT 'some', count(*) FROM ice.db.sales s JOIN (SELECT day FROM days WHERE few) d ON s.day = d.day " +
      "UNION ALL SELECT 'all', count(*) FROM ice.db.sales"
    assert(sameRows(spark.sql(twice)).rows == Seq("[all, 1100]", "[some, 300]"))
  }

  test("two uses of one scan, of which one would get keys") {
    // Spark does not inline what is not deterministic, and both uses have the same scan object.
    val one = "SELECT count(*) FROM (SELECT rand() AS r FROM range(1)) WHERE r >= 0"
    val shared = s"WITH s AS (SELECT /*+ REPARTITION(3, id) */ a.id, a.day FROM ice.db.sales a CROSS JOIN ($one)) " +
      "SELECT 'some', count(s.id), max(s.day) FROM s JOIN (SELECT day FROM days WHERE few) d ON s.day = d.day " +
      "UNION ALL SELECT 'all', count(id), max(day) FROM s"
    val ran = sameRows(spark.sql(shared))
    assert(ran.rows == Seq("[all, 1100, 9]", "[some, 300, 2]"))
    val alone = "SELECT id, day FROM ice.db.sales"
    assert(narrowed(shared) == Seq((true, 300), (true, 300)) && narrowed(alone) == Seq((true, 300)))
    // Then the one source itself would be filtered.
    withConf("spark.sql.iceberg.planning.preserve-data-grouping" -> "true") {
      assert(narrowed(shared) == Seq((false, 1100), (false, 1100)) && narrowed(alone) == Seq((true, 300)))
    }
  }

  /** Whether each scan of a query would get keys, were it asked to by three days, and the rows of the files that it would read. The files of
    * the scans that are asked stay as they are.
    */
  private def narrowed(query: String): Seq[(Boolean, Long)] = withConf("spark.aqePlugin.mode" -> "off") {
    val execution = spark.sql(query).queryExecution
    SQLExecution.withNewExecutionId(execution) {
      scans(execution.executedPlan, "sales").map { scan =>
        val summary = FilterSummary("exact", 8L, Seq(ColumnKeys(Seq((0L, 2L)), Some(Seq(0L, 1L, 2L)))), 1L, 0L)
        val before = scan.inputPartitions.size
        val read = ScanAdapter.withKnownKeys(scan, scan.output.filter(_.name == "day"), summary, TableStatistics.None, 50)
          .asInstanceOf[BatchScanExec]
        val left = (hasKeys(read), ColumnarToRowExec(read).executeCollect().length.toLong)
        assert(read.runtimeFilters.nonEmpty || scan.scan.toBatch.planInputPartitions().length == before)
        left
      }
    }
  }

  test("a frame that runs again, before and after its build side has changed") {
    made("CREATE TABLE ice.db.wanted USING iceberg AS SELECT CAST(id AS int) AS day FROM range(2)")
    def frame = spark.sql(joined("ice.db.sales", "ice.db.wanted"))
    val first = frame
    val two = withPlugin(first)
    assert(prunes(two, "sales") && scanned(two, "sales") == 200)
    assert(withPlugin(first).rows == two.rows)
    made("INSERT INTO ice.db.wanted VALUES (7)")
    val three = sameRows(frame)
    assert(scanned(three, "sales") == 300)
    assert(sameRows(first.selectExpr("*", "1")).rows.nonEmpty)
    made("DELETE FROM ice.db.wanted WHERE day < 2")
    assert(scanned(sameRows(frame), "sales") == 100)
  }

  test("explain and then collect") {
    val expected = withoutPlugin(spark.sql(joined("ice.db.sales")))
    val frame = spark.sql(joined("ice.db.sales"))
    withConf("spark.aqePlugin.test.openGates" -> "true")(frame.explain("formatted"))
    val ran = withPlugin(frame)
    assert(ran.rows == expected && scanned(ran, "sales") == 300)
    assert(withPlugin(frame).rows == expected)
  }

  test("a filter that another one replaces") {
    table("words", "SELECT CAST(id AS string) AS word, CAST(id AS int) AS n FROM range(2)")
    val query = "SELECT count(*), sum(s.v) FROM ice.db.sales s JOIN (SELECT day FROM days WHERE few) d ON s.day = d.day " +
      "JOIN words w ON s.word = w.word JOIN words x ON s.id % 2 = x.n"
    for (most <- 1 to 2) withConf("spark.aqePlugin.filter.maxPerScan" -> most.toString) { val _ = sameRows(spark.sql(query)) }
  }

  test("a partition column that Spark prunes by itself gets no second filter, a bucket, which has rows of several keys, does") {
    made(s"CREATE TABLE ice.db.bucketed_days USING iceberg PARTITIONED BY (bucket(3, day)) AS $Rows")
    // Spark prunes by conditions that it takes for selective.
    table("named_days", "SELECT CAST(id AS int) AS day, concat('day ', id) AS name FROM range(10)")
    val few = "(SELECT day FROM named_days WHERE name < 'day 3')"
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m") {
      def reason(ran: Ran): String = ran.decided.map(_.decision.at("/filterReason/code").textValue).mkString(", ")
      val byValue = sameRows(spark.sql(joined("ice.db.sales", few)))
      assert(reason(byValue) == "ALREADY_FILTERED_BY_SPARK" && scanned(byValue, "sales") == 300)
      val byBucket = sameRows(spark.sql(joined("ice.db.bucketed_days", few)))
      assert(reason(byBucket) == "GATES_OPEN", byBucket.plan)
      // Files of an older spec are not pruned by value.
      made(
        s"CREATE TABLE ice.db.repartitioned USING iceberg AS $Rows",
        "ALTER TABLE ice.db.repartitioned ADD PARTITION FIELD day",
        s"INSERT INTO ice.db.repartitioned $Rows"
      )
      val byBoth = sameRows(spark.sql(joined("ice.db.repartitioned", few)))
      assert(reason(byBoth) == "GATES_OPEN", byBoth.plan)
    }
  }

  test("a dimension that Spark's dynamic pruning reads as well") {
    made(
      "CREATE TABLE ice.db.calendar USING iceberg PARTITIONED BY (g) AS SELECT CAST(id AS int) AS day, CAST(id % 3 AS int) AS g FROM range(10)"
    )
    table("groups", "SELECT 1 AS g, true AS wanted")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m", "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly" -> "false") {
      for (join <- Seq("JOIN", "LEFT JOIN")) {
        val ran = sameRows(spark.sql(
          "SELECT /*+ MERGE(g) */ count(*), sum(s.v), count(g.wanted) FROM ice.db.sales s JOIN (SELECT c.day, c.g FROM ice.db.calendar c WHERE c.day < 8) c " +
            s"ON s.day = c.day $join groups g ON c.g = g.g"
        ))
        assert(prunes(ran, "sales") && !prunes(ran, "calendar"))
      }
    }
  }

  test("scans that keep their partitions for a join without a shuffle") {
    made(s"CREATE TABLE ice.db.returns USING iceberg PARTITIONED BY (day) AS SELECT id AS rid, day, v AS back FROM ($Rows)")
    withConf(
      "spark.sql.sources.v2.bucketing.enabled" -> "true",
      "spark.sql.sources.v2.bucketing.pushPartValues.enabled" -> "true",
      "spark.sql.iceberg.planning.preserve-data-grouping" -> "true",
      "spark.sql.requireAllClusterKeysForCoPartition" -> "false"
    ) {
      for (clustered <- Seq("true", "false"))
        withConf("spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled" -> clustered) {
          val ran = sameRows(spark.sql(
            "SELECT count(*), sum(s.v), sum(r.back) FROM ice.db.sales s JOIN ice.db.returns r ON s.day = r.day AND s.id = r.rid " +
              "JOIN (SELECT day FROM days WHERE few) d ON s.day = d.day"
          ))
          // A side whose splits are not put together by their values keeps their number: fewer files may be cut into more.
          assert(scanned(ran, "returns") == 300 && scanned(ran, "sales") == (if (clustered == "true") 1000 else 300), ran.plan)
        }
    }
  }

  /** Storage-partitioned joins of Iceberg tables, by whose partition values Spark has planned the partitions of both scans. */
  private def storagePartitioned[A](more: (String, String)*)(body: => A): A =
    withConf(Seq("spark.sql.iceberg.planning.preserve-data-grouping" -> "true") ++ more.map {
      case (name, value) => s"spark.sql.sources.v2.bucketing.$name" -> value
    } :+ ("spark.sql.requireAllClusterKeysForCoPartition" -> "false"): _*)(body)

  test("a scan whose partitions were filtered for a storage-partitioned join gets no keys: they would bring back some of the partitions") {
    made(
      "CREATE TABLE ice.db.o USING iceberg PARTITIONED BY (day) AS SELECT id, CAST(id % 3 AS int) AS day FROM range(1500)",
      "CREATE TABLE ice.db.p USING iceberg PARTITIONED BY (day) AS SELECT id, CAST(id % 3 + 1 AS int) AS day FROM range(1500)"
    )
    table("w", "SELECT CAST(id AS int) AS day FROM range(2)")
    def query(hint: String = "", left: String = "JOIN") =
      s"SELECT $hint count(*) FROM ice.db.o $left ice.db.p ON o.day = p.day JOIN w ON o.day = w.day"
    storagePartitioned("partition.filter.enabled" -> "true") {
      val ran = sameRows(spark.sql(query()))
      assert(ran.rows == Seq("[250000]") && filtered(ran).contains("ice.db.o(day)") && !prunes(ran, "db.o"))
      Seq(query(hint = "/*+ MERGE(w) */"), query(left = "LEFT JOIN"), query(left = "LEFT SEMI JOIN")).foreach(text =>
        sameRows(spark.sql(text))
      )
    }
  }

  test("a scan whose partitions were put together for a storage-partitioned join by one of their columns gets no keys") {
    val rows = "SELECT id, CAST(id % 3 AS int) AS day, CAST(id % 5 AS string) AS region FROM range(300)"
    made(
      s"CREATE TABLE ice.db.o2 USING iceberg PARTITIONED BY (day, region) AS $rows",
      s"CREATE TABLE ice.db.p2 USING iceberg PARTITIONED BY (day, region) AS $rows"
    )
    table("w", "SELECT CAST(id AS int) AS day FROM range(2)")
    storagePartitioned("allowJoinKeysSubsetOfPartitionKeys.enabled" -> "true", "partiallyClusteredDistribution.enabled" -> "true") {
      val ran =
        sameRows(spark.sql("SELECT count(*), sum(p.id) FROM ice.db.o2 o JOIN ice.db.p2 p ON o.region = p.region JOIN w ON o.day = w.day"))
      assert(filtered(ran).contains("ice.db.o2(day)"))
    }
  }

  test("a scan whose partitions a storage-partitioned join reduces to fewer buckets gets no keys, and one that is only grouped gets them") {
    made(
      "CREATE TABLE ice.db.o4 USING iceberg PARTITIONED BY (bucket(4, id)) AS SELECT id, id % 9 AS v FROM range(900)",
      "CREATE TABLE ice.db.p2b USING iceberg PARTITIONED BY (bucket(2, id)) AS SELECT id, id % 7 AS v FROM range(900)"
    )
    table("one", "SELECT id FROM range(1)")
    storagePartitioned("allowCompatibleTransforms.enabled" -> "true") {
      val reduced =
        sameRows(spark.sql("SELECT count(*), sum(p.v) FROM ice.db.o4 o JOIN ice.db.p2b p ON o.id = p.id JOIN one w ON o.id = w.id"))
      assert(scanned(reduced, "o4") == 900 && scanned(reduced, "p2b") < 900)
      val grouped =
        sameRows(spark.sql("SELECT day, count(*) FROM ice.db.sales s JOIN (SELECT day FROM days WHERE few) d USING (day) GROUP BY day"))
      assert(scanned(grouped, "sales") == 300)
    }
  }

  test("commands change the same rows") {
    def changed(mode: String, how: String): Seq[String] = {
      made(
        "DROP TABLE IF EXISTS ice.db.target",
        s"CREATE TABLE ice.db.target USING iceberg PARTITIONED BY (day) TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = '$how', " +
          s"'write.update.mode' = '$how', 'write.merge.mode' = '$how') AS $Rows"
      )
      withConf("spark.aqePlugin.mode" -> mode, "spark.aqePlugin.test.openGates" -> "true") {
        val _ = spark.sql(
          "MERGE INTO ice.db.target t USING (SELECT day FROM days WHERE few) d ON t.day = d.day WHEN MATCHED AND t.id % 2 = 0 THEN DELETE " +
            "WHEN MATCHED THEN UPDATE SET v = -1"
        )
      }
      withoutPlugin(spark.sql("SELECT * FROM ice.db.target"))
    }
    for (how <- Seq("copy-on-write", "merge-on-read")) assert(changed("apply", how) == changed("off", how), how)
  }

  test("a cached frame over the scan") {
    val cached = spark.sql(joined("ice.db.sales")).cache()
    try {
      val _ = (sameRows(cached), sameRows(cached), sameRows(spark.sql(joined("ice.db.sales"))))
    } finally { val _ = cached.unpersist() }
  }
}
