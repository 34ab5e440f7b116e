package io.aqeplugin.e2e

import org.apache.spark.sql.{DataFrame, DataFrameWriter, Row}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.ReasonCode
import io.aqeplugin.tell.JoinDecided

/** Below a write, a join that could do without the shuffle of its probe side keeps it where the files would become more. */
class WrittenFilesSuite extends AnyFunSuite with TableFormats {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id, CAST(id % 2000 AS int) AS k, CAST(id % 5 AS int) AS p, uuid() AS word FROM range(10000)", files = 8)
    table("dims", "SELECT CAST(id AS int) AS k, CAST(id % 100 AS int) AS g, 'd' || id AS name FROM range(2000)")
    table("more", "SELECT CAST(id AS int) AS p, CAST(id % 100 AS int) AS h FROM range(2000)")
  }

  /** The facts are read by eight tasks, of which AQE makes one or two after a shuffle. Dimensions are not broadcast at first. */
  private val Conf = Seq(
    "spark.sql.files.maxPartitionBytes" -> "100k",
    "spark.sql.files.openCostInBytes" -> "100k",
    "spark.sql.autoBroadcastJoinThreshold" -> "100"
  )

  private val Joined = "SELECT f.id, f.p, f.word, d.name FROM facts f JOIN (SELECT k, name FROM dims WHERE g < 9) d ON f.k = d.k"

  private def query: DataFrame = spark.sql(Joined)

  /** The files that `write` makes and the rows that they hold, then the decisions. */
  private def written(
      mode: String,
      name: String,
      write: String => Any,
      read: String => DataFrame
  ): (Long, Seq[String], Seq[JoinDecided]) = {
    drain()
    val mark = events.mark()
    withConf("spark.aqePlugin.mode" -> mode, "spark.aqePlugin.test.openGates" -> "true") { val _ = write(name) }
    drain()
    val told = events.since(mark).collect { case decided: JoinDecided => decided }
    withConf("spark.aqePlugin.mode" -> "off") {
      val frame = read(name)
      (frame.selectExpr("input_file_name() AS file").distinct().count(), multiset(frame.selectExpr("id", "p", "word")), told)
    }
  }

  /** Spark alone writes from fewer tasks than the scan has, and the plugin from no more. Returns the decisions. */
  private def keepsFiles(name: String, most: Int, conf: (String, String)*)(
      write: String => Any,
      read: String => DataFrame
  ): Seq[JoinDecided] =
    withConf(Conf ++ conf: _*) {
      val (alone, rows, _) = written("off", s"${name}_off", write, read)
      val (now, same, told) = written("apply", s"${name}_apply", write, read)
      assert(same == rows && rows.nonEmpty)
      assert(alone <= most && now <= alone, s"$now files, $alone without the plugin: ${told.map(_.decision)}")
      assert(told.exists(_.decision.get("buildFilter").asBoolean), told.map(_.decision))
      told
    }

  private def path(name: String): String = folder.resolve(s"written-$name").toString

  private def saved(format: String, writer: DataFrame => DataFrameWriter[Row])(name: String): Unit =
    writer(query).format(format).save(path(name))

  private def loaded(format: String)(name: String): DataFrame = spark.read.format(format).load(path(name))

  private def rules(told: Seq[JoinDecided]): Seq[String] =
    told.map(_.decision.get("options").get(0).get("reason").get("code").asText)

  for ((what, conf) <- Seq("that only the plugin would broadcast" -> "100", "that AQE broadcasts by its measured size" -> "10m")) {
    val measured = "spark.sql.adaptive.autoBroadcastJoinThreshold" -> conf

    test(s"the folders of a file format, beside a side $what") {
      val told = keepsFiles(s"folders$conf", 10, measured)(saved("parquet", _.write.partitionBy("p")), loaded("parquet"))
      assert(rules(told) == Seq(ReasonCode.MoreWriteTasks.name))
    }

    test(s"files without folders, beside a side $what") {
      val _ = keepsFiles(s"flat$conf", 2, measured)(saved("orc", _.write), loaded("orc"))
    }

    test(s"Delta, beside a side $what") {
      val _ = keepsFiles(s"delta$conf", 10, measured)(saved("delta", _.write.partitionBy("p")), loaded("delta"))
    }

    test(s"Iceberg that does not distribute its rows, beside a side $what") {
      val _ = keepsFiles(s"ice$conf", 2, measured)(
        name => spark.sql(s"CREATE TABLE ice.db.w_$name USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none') AS $Joined"),
        name => spark.table(s"ice.db.w_$name")
      )
    }
  }

  test("CTAS, INSERT and MERGE of Delta and Iceberg") {
    val tables = Seq("delta" -> "", "iceberg" -> "ice.db.")
    for ((format, catalog) <- tables) {
      val _ = keepsFiles(s"into_$format", 3)(
        name => {
          made(s"CREATE TABLE $catalog$name (id bigint, p int, word string, name string) USING $format")
          spark.sql(s"INSERT INTO $catalog$name $Joined")
        },
        name => spark.table(s"$catalog$name")
      )
      val _ = keepsFiles(s"merged_$format", 6)(
        name => {
          made(s"CREATE TABLE $catalog$name USING $format AS $Joined LIMIT 10")
          spark.sql(s"MERGE INTO $catalog$name t USING ($Joined) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
        },
        name => spark.table(s"$catalog$name")
      )
    }
  }

  test("two INSERTs of one query") {
    val _ = keepsFiles("both", 4)(
      name => {
        for (one <- Seq("first", "second")) made(s"CREATE TABLE ${name}_$one (id bigint, p int, word string) USING parquet")
        spark.sql(s"FROM ($Joined) INSERT INTO ${name}_first SELECT id, p, word INSERT INTO ${name}_second SELECT id, p, word WHERE p < 3")
      },
      name => spark.table(s"${name}_first").unionAll(spark.table(s"${name}_second"))
    )
  }

  test("EXPLAIN of a query that writes nothing decides as if it ran") {
    withConf(Conf ++ Seq("spark.aqePlugin.test.openGates" -> "true"): _*) {
      def planned(text: String) = spark.sql(s"EXPLAIN $text").head().getString(0)
      assert(!planned(Joined).contains(ReasonCode.MoreWriteTasks.name), planned(Joined))
      assert(planned(Joined).contains("RuntimeFilter") == ran(query).plan.toString.contains("RuntimeFilter"))
    }
  }

  test("the lower of two joins, whose own shuffle is not the last") {
    val two = s"SELECT j.id, j.p, j.word, j.name FROM ($Joined) j JOIN (SELECT p FROM more WHERE h < 9) m ON j.p = m.p"
    for (conf <- Seq("100", "10m")) {
      val _ = keepsFiles(s"two$conf", 3, "spark.sql.adaptive.autoBroadcastJoinThreshold" -> conf)(
        name => spark.sql(two).write.parquet(path(name)),
        loaded("parquet")
      )
    }
  }

  test("rows that are thrown away, as a measurement does, are not written") {
    withConf(Conf ++ Seq("spark.aqePlugin.test.openGates" -> "true"): _*) {
      val mark = events.mark()
      query.write.format("noop").mode("overwrite").save()
      drain()
      val told = events.since(mark).collect { case decided: JoinDecided => decided }
      assert(told.nonEmpty && told.forall(!_.decision.path("facts").path("written").asBoolean), told)
    }
  }

  test("after a shuffle of the author's, or one of an aggregate, the probe side need not be shuffled") {
    withConf(Conf: _*) {
      val hinted = Joined.replaceFirst("SELECT", "SELECT /*+ REBALANCE */")
      for (
        (name, text) <- Seq("rebalanced" -> hinted, "grouped" -> s"SELECT id, max(p) AS p, max(word) AS word FROM ($Joined) GROUP BY id")
      ) {
        val (_, _, told) = written("apply", name, name => spark.sql(text).write.parquet(path(name)), loaded("parquet"))
        assert(told.map(_.decision.get("choice").asText) == Seq("broadcast"), told.map(_.decision))
      }
      val read = ran(withConf("spark.aqePlugin.test.openGates" -> "true")(query))
      assert(!rules(read.decided).contains(ReasonCode.MoreWriteTasks.name))
    }
  }
}
