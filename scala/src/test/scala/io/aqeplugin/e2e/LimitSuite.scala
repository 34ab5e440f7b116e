package io.aqeplugin.e2e

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.ExplainMode
import org.apache.spark.sql.functions.{col, when}
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.limit.CollectLimitFilesExec
import io.aqeplugin.storage.CountingFileSystem
import io.aqeplugin.tell.LimitDecided

/** What is read for a `LIMIT`: the plan, the rows, the files that tasks open and the rows that they read. */
class LimitSuite extends AnyFunSuite with LimitSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    manyFiles("t")
    manyFiles("o", format = "orc")
    manyFiles("parts", partitioned = true)
  }

  private def sql(text: String): DataFrame = spark.sql(text)

  private def ids(ran: LimitRan): Seq[Long] = ran.rows.map(_.getAs[Long]("id"))

  private def hasRows(ran: LimitRan, count: Int)(matches: Long => Boolean = _ => true): Assertion = {
    assert(ran.rows.size == count)
    assert(ids(ran).distinct.size == count)
    assert(ids(ran).forall(id => id >= 0 && id < Files * FileRows && matches(id)))
  }

  for (table <- Seq("t", "o", "parts"))
    test(s"$table: a limit reads the fewest files that hold its rows, all at once") {
      for ((rows, files) <- Seq(1 -> 1, FileRows -> 1, FileRows + 1 -> 2, 7 * FileRows -> 7, 7 * FileRows + 5 -> 8)) {
        val ran = limited(sql(s"SELECT * FROM $table LIMIT $rows"))
        hasRows(ran, rows)()
        assert(ran.choices == Seq("fewest_files"), rows)
        assert((ran.opened, ran.tasks) == ((files, math.min(files, 4))), "small files share the tasks of two slots")
        assert(ran.footers <= files + 2, "footers are not read beyond the limit")
        assert(ran.plan.contains("ChosenFiles"), ran.plan)
      }
    }

  test("a computed column that has the name of a column of the files is not judged by their statistics") {
    // Spark 4.2 leaves such a filter above the column that it reads; before, it had to be kept there.
    val pushing = Seq("PushDownPredicates", "PushPredicateThroughNonJoin").map("org.apache.spark.sql.catalyst.optimizer." + _)
    withConf("spark.sql.optimizer.excludedRules" -> pushing.mkString(",")) {
      // In the first, no file has such a value of its own column; in the second, files that have nothing else.
      val computed =
        Seq("CASE WHEN s LIKE 'n_me%' THEN -5L ELSE 5000L END" -> "c < 0 AND c > -10", "IF(id < 1000, 7L, 500L)" -> "c > 100 AND c < 900")
      for ((column, condition) <- computed) {
        val ran = limited(sql(s"SELECT old, c FROM (SELECT c AS old, $column AS c FROM t) WHERE $condition LIMIT 5"))
        assert(ran.rows.size == 5, ran.plan)
      }
    }
  }

  test("a limit over many columns that are computed of one another is planned") {
    val computed =
      (1 to 40).foldLeft(spark.table("t"))((frame, i) => frame.withColumn("c", when(col("c") === i, i + 1L).otherwise(col("c"))))
    val ran = limited(computed.select("c").limit(5))
    assert(ran.rows.size == 5 && ran.choices == Seq("fewest_files"))
  }

  test("of a file that has many more rows than wanted, not all splits are started") {
    val path = folder.resolve("large").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.range(0, 4000, 1, 2).selectExpr(
        "id",
        "repeat(uuid(), 4) AS s"
      ).write.option("parquet.block.row.count.limit", "50").parquet(path)
    }
    withConf("spark.sql.files.maxPartitionBytes" -> "20k", "spark.sql.files.openCostInBytes" -> "1") {
      spark.read.parquet(path).createOrReplaceTempView("large")
      assert(spark.table("large").rdd.getNumPartitions > 20)
      val few = limited(sql("SELECT * FROM large LIMIT 10"))
      assert(ids(few).distinct.size == 10)
      assert(few.choices == Seq("fewest_files") && few.limits.forall(_.outcome.path("splits").asInt <= 4), few.limits)
      val most = limited(sql("SELECT * FROM large LIMIT 1900"))
      assert(most.rows.size == 1900 && most.choices == Seq("fewest_files"))
    }
  }

  test("Spark alone needs more waves and tasks for the same limit") {
    val plain = plainly(sql(s"SELECT * FROM t LIMIT ${6 * FileRows}"))
    hasRows(plain, 6 * FileRows)()
    assert(plain.limits.isEmpty && plain.tasks > 6)
  }

  test("the reader stops at the limit's rows inside a file") {
    val ran = limited(sql("SELECT * FROM t LIMIT 3"))
    hasRows(ran, 3)()
    // One batch of the reader; the file has more.
    assert(ran.rowsRead.forall(_ <= 64))
  }

  for (
    (name, take) <- Seq[(String, DataFrame => Int)](
      "head" -> (_.head(5).length),
      "take" -> (_.take(5).length),
      "first" -> (frame => Seq(frame.first()).size),
      "limit and collect" -> (_.limit(5).collect().length),
      "limit and toLocalIterator" -> { frame =>
        val rows = frame.limit(5).toLocalIterator()
        Iterator.continually(rows).takeWhile(_.hasNext).map(_.next()).size
      }
    )
  )
    test(s"DataFrame $name opens one file") {
      io.aqeplugin.storage.CountingFileSystem.reset()
      assert(Set(1, 5)(take(spark.table("t"))))
      assert(io.aqeplugin.storage.CountingFileSystem.byTasks.size == 1)
    }

  test("a limit inside a larger query reads the fewest files in one wave") {
    val ran = limited(sql(s"SELECT count(*) AS n, min(id) AS id FROM (SELECT * FROM t LIMIT ${3 * FileRows})"))
    assert(ran.rows.head.getAs[Long]("n") == 3 * FileRows)
    assert(ran.opened == 3)
    assert(ran.choices == Seq("fewest_files"))
    assert(plainly(sql(s"SELECT count(*) AS n FROM (SELECT * FROM t LIMIT ${3 * FileRows})")).opened == Files)
  }

  test("the same holds without AQE") {
    withConf("spark.sql.adaptive.enabled" -> "false") {
      val ran = limited(sql(s"SELECT count(*) AS n, min(id) AS id FROM (SELECT * FROM t LIMIT ${3 * FileRows})"))
      assert(ran.rows.head.getAs[Long]("n") == 3 * FileRows && ran.opened == 3)
    }
  }

  test("a limit larger than the table reads everything and returns every row") {
    for (rows <- Seq((Files * FileRows + 1).toString, Int.MaxValue.toString)) {
      val ran = limited(sql(s"SELECT * FROM t LIMIT $rows"))
      hasRows(ran, Files * FileRows)()
      assert(ran.opened == Files)
      assert(limited(sql(s"SELECT count(*) FROM (SELECT * FROM t LIMIT $rows)")).rows.head.getLong(0) == Files * FileRows)
    }
  }

  test("show reads the fewest files, whatever the types of the columns") {
    drain()
    val mark = events.mark()
    CountingFileSystem.reset()
    sql("SELECT *, array(id, c) AS a, named_struct('s', s, 'd', d) AS st FROM t").show(10)
    drain()
    assert(events.since(mark).collect { case limit: LimitDecided => limit.decision.path("choice").asText } == Seq("fewest_files"))
    assert(CountingFileSystem.byTasks.size == 1)
  }

  test("LIMIT 0 reads nothing") {
    val ran = limited(sql("SELECT * FROM t LIMIT 0"))
    assert(ran.rows.isEmpty && ran.opened == 0)
  }

  test("an offset is skipped from the rows that the limit takes") {
    val ran = limited(sql("SELECT * FROM t LIMIT 150 OFFSET 120"))
    hasRows(ran, 150)()
    assert(ran.opened == 3 && ran.choices == Seq("fewest_files"))
    val most = limited(sql(s"SELECT * FROM t LIMIT 10 OFFSET ${Files * FileRows - 4}"))
    hasRows(most, 4)()
    assert(limited(sql("SELECT * FROM t OFFSET 1990")).rows.size == 10)
  }

  test("a filter on partitions leaves counts exact") {
    val ran = limited(sql(s"SELECT * FROM parts WHERE p = 2 LIMIT ${FileRows + 1}"))
    hasRows(ran, FileRows + 1)(id => id / (FileRows * 5) == 2)
    assert(ran.choices == Seq("fewest_files") && ran.opened == 2)
    val mixed = limited(sql(s"SELECT * FROM parts WHERE p = 2 OR id < 50 LIMIT ${FileRows + 1}"))
    hasRows(mixed, FileRows + 1)(id => id < 50 || id / (FileRows * 5) == 2)
    assert(mixed.choices == Seq("fewest_files") && mixed.opened == 2)
  }

  for (
    (filter, matches) <- Seq[(String, Long => Boolean)](
      "c >= 1000" -> (_ >= 1000),
      "c BETWEEN 300 AND 1500" -> (id => id >= 300 && id <= 1500),
      "NOT (c < 900 OR c IS NULL)" -> (_ >= 900),
      "n IS NULL OR n < 1000" -> (id => id % 10 == 0 || id < 1000),
      "c > 1700 OR id < 400" -> (id => id > 1700 || id < 400)
    )
  )
    test(s"files whose statistics prove that all rows match are counted: $filter") {
      val ran = limited(sql(s"SELECT * FROM t WHERE $filter LIMIT ${2 * FileRows}"))
      hasRows(ran, 2 * FileRows)(matches)
      assert(ran.choices == Seq("fewest_files"))
      assert(ran.opened == 2)
    }

  test("files whose statistics prove that no row matches are not opened") {
    val ran = limited(sql("SELECT * FROM t WHERE c IN (5, 6, 1950) LIMIT 10"))
    assert(ids(ran).sorted == Seq(5, 6, 1950))
    assert(ran.choices == Seq("waves") && ran.opened == 2)
  }

  for (filter <- Seq("s LIKE 'name 1%'", "u = 7", "c % 2 = 1", "s > 'name 3'"))
    test(s"a filter that no statistic proves is read in waves: $filter") {
      val expected = withConf("spark.aqePlugin.mode" -> "off")(sql(s"SELECT id FROM t WHERE $filter").collect().map(_.getLong(0)).toSet)
      for (rows <- Seq(1, 3, 40)) {
        val ran = limited(sql(s"SELECT * FROM t WHERE $filter LIMIT $rows"))
        hasRows(ran, math.min(rows, expected.size))(expected)
        assert(ran.choices == Seq("waves"))
        assert(collect(ran.frame.queryExecution.executedPlan) { case limit: CollectLimitFilesExec => limit }.size == 1)
      }
    }

  test("in mode observe the plan is Spark's, and the decision is recorded") {
    withConf("spark.aqePlugin.mode" -> "observe") {
      val ran = limited(sql("SELECT * FROM t LIMIT 300"))
      hasRows(ran, 300)()
      assert(ran.choices == Seq("fewest_files") && !ran.limits.head.applied)
      assert(!ran.plan.contains("ChosenFiles") && !ran.plan.contains("CollectLimitFiles"))
    }
  }

  for (mode <- Seq("off", "observe"))
    test(s"limit.mode $mode leaves limits to Spark, whatever the plugin's mode is") {
      withConf("spark.aqePlugin.limit.mode" -> mode) {
        val ran = limited(sql("SELECT * FROM t LIMIT 300"))
        hasRows(ran, 300)()
        assert(ran.limits.map(limit => limit.decision.path("choice").asText -> limit.mode) ==
          (if (mode == "off") Nil else Seq("fewest_files" -> mode)))
        assert(!ran.plan.contains("ChosenFiles") && !ran.plan.contains("CollectLimitFiles"))
      }
    }

  test("a frame whose plan was printed before it ran runs Spark's own plan") {
    val ran = limited {
      val frame = sql("SELECT * FROM t LIMIT 300")
      assert(frame.queryExecution.explainString(ExplainMode.fromString("simple")).contains("CollectLimit "))
      frame
    }
    hasRows(ran, 300)()
    assert(ran.limits.isEmpty && !ran.plan.contains("ChosenFiles"))
  }

  test("in mode off nothing is decided") {
    val ran = plainly(sql("SELECT * FROM t LIMIT 300"))
    assert(ran.limits.isEmpty && !ran.plan.contains("ChosenFiles"))
  }

  for (
    (what, query, reason) <- Seq(
      ("an aggregate below", "SELECT u, count(*) FROM t GROUP BY u LIMIT 5", "LIMIT_OPERATOR_BELOW"),
      ("DISTINCT below", "SELECT DISTINCT u FROM t LIMIT 5", "LIMIT_OPERATOR_BELOW"),
      ("a random filter", "SELECT * FROM t WHERE rand() < 0.9 LIMIT 5", "LIMIT_NON_DETERMINISTIC"),
      ("a random column", "SELECT id, rand() FROM t LIMIT 5", "LIMIT_NON_DETERMINISTIC"),
      ("a cast that may fail", "SELECT * FROM t WHERE CAST(concat(id) AS int) >= 0 LIMIT 5", "LIMIT_MAY_FAIL"),
      ("an inner join below", "SELECT * FROM t JOIN o USING (id) LIMIT 5", "LIMIT_OPERATOR_BELOW"),
      ("a sample below", "SELECT * FROM t TABLESAMPLE (50 PERCENT) LIMIT 5", "LIMIT_OPERATOR_BELOW"),
      ("another source", "SELECT * FROM range(50) LIMIT 5", "LIMIT_SOURCE")
    )
  )
    test(s"a limit is left to Spark: $what") {
      val ran = limited(sql(query))
      assert(ran.rows.size == 5)
      assert(ran.choices == Seq("leave_to_spark") && ran.reasons == Seq(reason))
    }

  test("a session that skips missing or corrupt files trusts no count") {
    withConf("spark.sql.files.ignoreMissingFiles" -> "true") {
      assert(limited(sql("SELECT * FROM t LIMIT 300")).reasons == Seq("FILES_MAY_BE_SKIPPED"))
    }
  }

  test("a limit over a union counts each side, and the preserved side of an outer join") {
    val union = limited(sql("SELECT id FROM t UNION ALL SELECT id FROM parts LIMIT 150"))
    assert(union.rows.size == 150)
    assert(union.opened <= 4)
    val outer = limited(sql("SELECT t.id FROM t LEFT JOIN (SELECT id + 100000 AS k FROM o) ON id = k LIMIT 150"))
    assert(outer.rows.size == 150 && outer.rows.map(_.getLong(0)).distinct.size == 150)
    assert(outer.choices.contains("fewest_files"))
  }

  test("a right outer join has its limit on the right side, and a full outer join on neither") {
    val right = limited(sql("SELECT o.id FROM (SELECT id + 100000 AS k FROM t) RIGHT JOIN o ON o.id = k LIMIT 150"))
    hasRows(right, 150)()
    assert(right.choices.contains("fewest_files"))
    val full = limited(sql("SELECT t.id FROM t FULL JOIN o ON t.id = o.id LIMIT 150"))
    hasRows(full, 150)()
    assert(full.reasons == Seq("LIMIT_OPERATOR_BELOW"))
  }

  test("a filter with a subquery is read in waves") {
    val ran = limited(sql("SELECT * FROM t WHERE id > (SELECT max(u) FROM o) LIMIT 20"))
    hasRows(ran, 20)(_ > 990)
    assert(ran.choices.contains("waves"))
  }

  test("the latest limits can be read as a table") {
    val _ = limited(sql("SELECT * FROM t LIMIT 321"))
    withConf("spark.aqePlugin.limit.mode" -> "observe") { val _ = limited(sql("SELECT * FROM t LIMIT 321")) }
    val rows = sql("SELECT choice, files_chosen, files, mode FROM aqe_limits() WHERE rows_wanted = 321")
    assert(multiset(rows) == Seq("apply", "observe").map(mode => s"[fewest_files, 4, $Files, $mode]"))
  }
}
