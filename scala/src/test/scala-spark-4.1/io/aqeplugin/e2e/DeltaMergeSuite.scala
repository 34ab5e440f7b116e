package io.aqeplugin.e2e

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.exec.RuntimeFilterExec

/** MERGE finds and changes rows of Delta tables as it does without the plugin, and reads no file of the target without a key of its source. */
class DeltaMergeSuite extends AnyFunSuite with ChangedTables {

  private var tables = 0

  private def path(name: String): String = s"delta.`file://${folder.resolve(name)}`"

  private def delta(name: String, properties: String, rows: String = Rows): Unit =
    made(s"CREATE TABLE ${path(name)} USING delta TBLPROPERTIES ($properties) AS $rows")

  /** Rows, changes if the table keeps them, and what Delta's log says of the last command. */
  private def look(name: String): Seq[String] = {
    val last = spark.sql(s"DESCRIBE HISTORY ${path(name)} LIMIT 1").select("version", "operation", "operationMetrics").head()
    val counted = last.getMap[String, String](2).toSeq
      .filter { case (key, _) => key.contains("Rows") || key.contains("Vectors") || key.endsWith("FilesRemoved") }.map(_.toString).sorted
    val properties = spark.sql(s"SHOW TBLPROPERTIES ${path(name)}").collect().map(_.getString(0)).toSet
    def has(feature: String): Boolean = properties(s"delta.enable$feature")
    val changes = if (!has("ChangeDataFeed")) Nil else multiset(changesOf(name, last.getLong(0)))
    val ids = if (!has("RowTracking")) Nil
    else multiset(
      spark.sql(s"SELECT k, _metadata.row_id AS id FROM ${path(name)} WHERE _metadata.row_id < 1000")
    )
    (s"${last.getLong(0)} ${last.getString(1)}" +: counted) ++ changes ++ ids ++ multiset(spark.sql(s"SELECT * FROM ${path(name)}"))
  }

  private def changesOf(name: String, version: Long) =
    spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", version).load(folder.resolve(name).toString)
      .drop("_commit_timestamp")

  /** What a command reads without and with the plugin; `T` in its text is the table. */
  private def merged(
      command: String,
      properties: String = "'a' = 'b'",
      conf: Seq[(String, String)] = Nil,
      rows: String = Rows
  ): (Read, Read) = {
    tables += 1
    same(
      name => {
        delta(name, properties, rows)
        val _ = spark.sql(command.replace("MERGE INTO T", s"MERGE INTO ${path(name)}").replace("FROM T", s"FROM ${path(name)}"))
      },
      look,
      conf: _*
    )((s"off_$tables", s"on_$tables"))
  }

  private val Features = Seq(
    "plain" -> "'a' = 'b'",
    "deletion vectors" -> "'delta.enableDeletionVectors' = 'true'",
    "column mapping" -> "'delta.columnMapping.mode' = 'name'",
    "change data feed" -> "'delta.enableChangeDataFeed' = 'true'",
    "row tracking" -> "'delta.enableRowTracking' = 'true'"
  )

  for (((feature, properties), number) <- Features.zipWithIndex)
    test(s"files without a key of the source are not read: $feature") {
      val commands = Seq(s"$On $Update $Delete $Insert" -> Shuffled, s"$On WHEN MATCHED THEN UPDATE SET v = s.n" -> Broadcast)
      val tried = if (Extent.TriesAll) commands else Seq(commands(number % commands.size))
      tried.foreach { case (command, conf) => readsFew(merged(command, properties, conf)) }
    }

  test("nothing is read but the statistics if no file may have a key") {
    for (conf <- Extent.some(sample = 1)(Seq(Shuffled, Broadcast)))
      readsFew(merged(s"${On.replace("news", "far")} $Update $Insert", conf = conf))
  }

  test("by texts, several columns, a condition beside the key and a source of Delta's") {
    delta("source", "'a' = 'b'", "SELECT * FROM news")
    val conditions = Seq("t.k = s.k AND t.word = s.word AND t.v > s.n + 300 AND s.n > 2", "t.word = s.word")
    for (condition <- Extent.some(sample = 1)(conditions))
      readsFew(merged(s"MERGE INTO T t USING news s ON $condition $Update $Delete $Insert"))
    readsFew(merged(s"${On.replace("news", path("source"))} $Update $Insert"))
    readsFew(
      merged("MERGE INTO T t USING (SELECT * FROM T WHERE g = 3 AND k < 150) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = 1 - s.v")
    )
  }

  test("a MERGE that only inserts looks for its keys in few files") {
    for (source <- Extent.some(sample = 1)(Seq("twice", "far"))) readsFew(merged(s"${On.replace("news", source)} $Insert"))
    readsFew(merged(s"$On WHEN NOT MATCHED AND s.n > 9 THEN INSERT (k) VALUES (s.k) $Insert"))
  }

  test("rows without a partner in the source are all read if the command changes them") {
    for ((clauses, (_, properties)) <- Seq(BySource, s"$Update $Insert $BySource").zip(Features)) {
      val (all, some) = merged(s"$On $clauses", properties)
      assert(some.records >= 1000 && all.records >= 1000)
    }
  }

  test("two rows of the source that match one of the target are an error, or one deleted row, as without the plugin") {
    val twice = On.replace("news", "twice")
    val features = Features.filterNot(_._1 == "row tracking")
    for ((_, properties) <- features.take(Extent.cases(sample = 1, whole = features.size))) {
      readsFew(merged(s"$twice $Update $Insert", properties, Shuffled))
      readsFew(merged(s"$twice WHEN MATCHED THEN DELETE", properties, Broadcast))
    }
    if (Extent.TriesAll) {
      readsFew(merged(s"$twice $Delete", conf = Broadcast))
      readsFew(merged(s"$twice WHEN MATCHED THEN DELETE $Insert", conf = Shuffled))
    }
  }

  test("a source that is not deterministic is read once, and counted as without the plugin") {
    for (properties <- Seq("'delta.enableDeletionVectors' = 'true'", "'a' = 'b'").take(Extent.cases(sample = 1, whole = 2)))
      readsFew(merged(s"MERGE INTO T t USING (SELECT * FROM news WHERE rand(3) < 0.7) s ON t.k = s.k $Update $Delete $Insert", properties))
  }

  test("deleted rows, files of several partitions, and a table that has changed before") {
    def changed(properties: String): Unit = {
      tables += 1
      val (all, some) = same(
        name => {
          made(
            s"CREATE TABLE ${path(name)} USING delta PARTITIONED BY (g) TBLPROPERTIES ($properties) AS ${Rows.replace("id % 7", "id DIV 300")}"
          )
          made(s"DELETE FROM ${path(name)} WHERE k % 3 = 0", s"UPDATE ${path(name)} SET v = -v WHERE k BETWEEN 100 AND 120")
          val _ = spark.sql(s"MERGE INTO ${path(name)} t USING news s ON t.k = s.k $Update $Insert")
        },
        look
      )((s"off_$tables", s"on_$tables"))
      val _ = assert(all.records - some.records > 400, s"$some of $all")
    }
    Seq("'delta.enableDeletionVectors' = 'true'", "'a' = 'b'").take(Extent.cases(sample = 1, whole = 2)).foreach(changed)
  }

  private def isNumbered(plan: SparkPlan): Boolean = plan.exists {
    case project: ProjectExec => project.projectList.exists(_.name == "_row_id_") && !project.projectList.forall(_.deterministic)
    case _                    => false
  }

  test("a filter is above the numbers of rows, which a task that runs again without it would change") {
    delta("numbered", "'a' = 'b'")
    val plans = plansOf(withConf("spark.aqePlugin.test.openGates" -> "true")(spark.sql(
      s"${On.replace("MERGE INTO T", s"MERGE INTO ${path("numbered")}")} $Update"
    )))
    val found = plans.flatMap(plan => filters(plan)).filter(filter => isNumbered(filter.child))
    assert(found.size == 1, plans)
    assert(!plans.exists(_.exists {
      case project: ProjectExec => isNumbered(project) && project.exists(_.isInstanceOf[RuntimeFilterExec])
      case _                    => false
    }))
  }

  test("numbers and names of files of a query stop its keys, whatever they are called") {
    delta("own", "'a' = 'b'")
    val (number, file) = ("monotonically_increasing_id()", "input_file_name()")
    for ((name, value) <- Seq("_row_id_" -> number, "_file_name_" -> file, "__row_id" -> number)) {
      val query = s"SELECT t.k, max(t.$name) FROM (SELECT k, $value AS $name FROM ${path("own")}) t JOIN news s ON t.k = s.k GROUP BY t.k"
      assert(filtered(sameRows(spark.sql(query))) == Seq("(shuffle)(k)"), name)
    }
  }

  test("the files of a stream's batch may be of other versions than its list: keys leave out none of them") {
    delta("streamed", "'a' = 'b'")
    made(s"DELETE FROM ${path("streamed")} WHERE k >= 0", s"INSERT INTO ${path("streamed")} SELECT 5000 + k, g, v, word FROM (${Rows})")
    def found(mode: (String, String), name: String): Seq[String] = withConf(mode) {
      val stream = spark.readStream.format("delta").option("startingVersion", "0").option("skipChangeCommits", "true")
        .load(folder.resolve("streamed").toString)
      val query = stream.writeStream.option("checkpointLocation", folder.resolve(s"checkpoint_$name").toString)
        .trigger(Trigger.AvailableNow())
        .foreachBatch { (batch: DataFrame, _: Long) =>
          batch.join(spark.table("news"), "k").select("k", "v", "n").write.mode("append").parquet(folder.resolve(s"sink_$name").toString)
        }.start()
      query.awaitTermination()
      withoutPlugin(spark.read.parquet(folder.resolve(s"sink_$name").toString))
    }
    val off = found("spark.aqePlugin.mode" -> "off", "off")
    assert(off.nonEmpty && found("spark.aqePlugin.test.openGates" -> "true", "on") == off)
  }

  for (
    (what, other) <- Seq(
      "an insert" -> "INSERT INTO T SELECT 112, 0, 0, 'late'",
      "a change of a touched file" -> "DELETE FROM T WHERE k = 111",
      "a change of a file without a key" -> "DELETE FROM T WHERE k = 555",
      "a new property" -> "ALTER TABLE T SET TBLPROPERTIES ('c' = 'd')"
    )
  )
    test(s"$what at the same time is a conflict or not as without the plugin") {
      tables += 1
      val _ = same(
        name => {
          delta(name, "'a' = 'b'")
          Meeting.during(spark.newSession().sql(other.replace(" T ", s" ${path(name)} "))) {
            spark.udf.register("meet", (n: Long) => Meeting.pass(n))
            spark.sql(
              s"MERGE INTO ${path(name)} t USING (SELECT k, meet(n) AS n FROM (SELECT /*+ COALESCE(1) */ * FROM news)) s ON t.k = s.k $Update $Insert"
            )
          }
        },
        look
      )((s"off_$tables", s"on_$tables"))
    }

  for (seed <- 1 to Extent.cases(sample = 4, whole = 60))
    test(s"random commands on random tables, seed $seed") {
      val made = new RandomMerge(seed)
      val _ = merged(made.command, made.one(Features: _*)._2, made.one(Shuffled, Broadcast), made.rows)
    }
}
