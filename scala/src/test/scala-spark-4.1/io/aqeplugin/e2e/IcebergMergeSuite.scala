package io.aqeplugin.e2e

import org.apache.spark.sql.execution.ProjectExec
import org.scalatest.funsuite.AnyFunSuite

/** MERGE, UPDATE and DELETE change rows of Iceberg tables as they do without the plugin; where files stay as they are, no file of the target without
  * a key is read.
  */
class IcebergMergeSuite extends AnyFunSuite with ChangedTables {

  private var tables = 0

  private def iceberg(name: String, version: String, mode: String, more: String = "", rows: String = Rows): Unit =
    made(s"CREATE TABLE ice.db.$name USING iceberg TBLPROPERTIES ('format-version' = '$version', " +
      Seq("delete", "update", "merge").map(what => s"'write.$what.mode' = '$mode'").mkString(", ") + s"$more) AS $rows")

  /** Rows, and what the last snapshot says of rows. */
  private def look(name: String): Seq[String] = {
    val last = spark.sql(s"SELECT operation, summary FROM ice.db.$name.snapshots ORDER BY committed_at DESC, snapshot_id LIMIT 1").head()
    val counted = last.getMap[String, String](1).toSeq.filter { case (key, _) =>
      key.endsWith("records") || key.endsWith("position-deletes") || key.endsWith("dvs") || key.endsWith("equality-deletes")
    }.map(_.toString).sorted
    (last.getString(0) +: counted) ++ multiset(spark.sql(s"SELECT * FROM ice.db.$name"))
  }

  private def changed(
      command: String,
      version: String = "2",
      mode: String = "merge-on-read",
      conf: Seq[(String, String)] = Nil,
      rows: String = Rows
  ) = {
    tables += 1
    same(
      name => {
        iceberg(name, version, mode, rows = rows)
        // Rows that are deleted twice are in one deletion vector. Copy-on-write would make one file of all.
        if (mode == "merge-on-read") made(s"DELETE FROM ice.db.$name WHERE k % 10 = 3")
        val _ = spark.sql(command.replace(" T ", s" ice.db.$name "))
      },
      look,
      conf: _*
    )((s"off_$tables", s"on_$tables"))
  }

  for (version <- Seq("2", "3"); (conf, how) <- Seq(Shuffled -> "shuffled", Broadcast -> "broadcast"))
    test(s"merge-on-read leaves files without a key unread: format $version, $how") {
      for (clauses <- Extent.some(sample = 1)(Seq(s"$Update $Delete $Insert", s"$Update $Delete", "WHEN MATCHED THEN DELETE")))
        readsFew(changed(s"$On $clauses", version, conf = conf))
      readsFew(changed(s"${On.replace("news", "far")} $Update $Insert", version, conf = conf))
      readsFew(changed("DELETE FROM T WHERE k IN (SELECT k FROM news)", version, conf = conf))
      readsFew(changed("UPDATE T SET v = -2 WHERE word IN (SELECT word FROM news)", version, conf = conf))
    }

  test("the hint that Spark's plan of a MERGE has is not told as the user's") {
    iceberg("hinted", "2", "merge-on-read")
    val merge = s"$On $Update $Insert".replace(" T ", " ice.db.hinted ")
    val decided = withConf("spark.aqePlugin.test.openGates" -> "true")(ran(spark.sql(merge))).decided.map(_.decision)
    assert(decided.map(_.path("reason").path("code").asText) == Seq("COMMAND_HINT"), decided)
    assert(decided.map(_.path("facts").path("hint").asText) == Seq("no_broadcast_and_replication"))
  }

  test("by texts, several columns and a condition beside the key") {
    for (condition <- Seq("t.word = s.word", "t.k = s.k AND t.word = s.word", "t.k = s.k AND t.v > s.n + 300", "t.k = s.k AND t.g > 1"))
      readsFew(changed(s"MERGE INTO T t USING news s ON $condition $Update $Delete $Insert"))
    readsFew(
      changed("MERGE INTO T t USING (SELECT * FROM T WHERE g = 3 AND k < 150) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = 1 - s.v")
    )
  }

  test("a MERGE that only inserts looks for its keys in few files") {
    for (mode <- Seq("merge-on-read", "copy-on-write")) readsFew(changed(s"$On $Insert", mode = mode))
  }

  test("copy-on-write finds the files that it rewrites among those with a key") {
    for (clauses <- Seq(s"$Update $Delete $Insert", s"$Update $Delete")) readsFew(changed(s"$On $clauses", mode = "copy-on-write"))
    readsFew(changed("DELETE FROM T WHERE k IN (SELECT k FROM news)", mode = "copy-on-write"))
  }

  test("rows without a partner in the source are all read if the command changes them") {
    for (mode <- Seq("merge-on-read", "copy-on-write"); clauses <- Seq(BySource, s"$Update $Insert $BySource")) {
      val (all, some) = changed(s"$On $clauses", mode = mode)
      assert(some.records >= 900 && all.records >= 900)
    }
  }

  test("two rows of the source that match one of the target are an error, or one deleted row, as without the plugin") {
    val twice = On.replace("news", "twice")
    for ((version, conf) <- Extent.some(sample = 2)(Seq("2" -> Shuffled, "2" -> Broadcast, "3" -> Shuffled, "3" -> Broadcast))) {
      for (clauses <- Seq(Update, s"$Update $Insert")) { val _ = changed(s"$twice $clauses", version, conf = conf) }
      readsFew(changed(s"$twice WHEN MATCHED THEN DELETE", version, conf = conf))
    }
    val _ = changed(s"$twice $Update", mode = "copy-on-write")
  }

  test("a filter is above the numbers of rows, and the scan below them reads few files") {
    iceberg("numbered", "2", "merge-on-read")
    val plans =
      plansOf(withConf("spark.aqePlugin.test.openGates" -> "true")(spark.sql(s"${On.replace(" T ", " ice.db.numbered ")} $Update")))
    val numbered = plans.flatMap(plan => filters(plan)).map(_.child).filter(_.exists {
      case project: ProjectExec => project.projectList.exists(_.name == "__row_id")
      case _                    => false
    })
    assert(numbered.size == 1, plans)
    assert(numbered.flatMap(_.collectLeaves()).map(_.metrics("numOutputRows").value) == Seq(200L))
  }

  for (
    (what, other) <- Seq(
      "an insert of a key" -> "INSERT INTO T SELECT 112, 0, 0, 'late'",
      "an insert elsewhere" -> "INSERT INTO T SELECT 7777, 0, 0, 'late'",
      "a change of a touched file" -> "DELETE FROM T WHERE k = 111",
      "a change of a file without a key" -> "DELETE FROM T WHERE k = 555"
    ); level <- Seq("serializable", "snapshot")
  )
    test(s"$what at the same time is a conflict or not as without the plugin: $level") {
      tables += 1
      val _ = same(
        name => {
          iceberg(name, "2", "merge-on-read", s", 'write.merge.isolation-level' = '$level'")
          Meeting.during(spark.newSession().sql(other.replace(" T ", s" ice.db.$name "))) {
            spark.udf.register("meet", (n: Long) => Meeting.pass(n))
            spark.sql(
              s"MERGE INTO ice.db.$name t USING (SELECT k, meet(n) AS n FROM (SELECT /*+ COALESCE(1) */ * FROM news)) s ON t.k = s.k $Update $Insert"
            )
          }
        },
        look
      )((s"off_$tables", s"on_$tables"))
    }

  for (seed <- 1 to Extent.cases(sample = 6, whole = 60))
    test(s"random commands on random tables, seed $seed") {
      val made = new RandomMerge(seed)
      val mode = made.one("merge-on-read", "merge-on-read", "copy-on-write")
      val _ = changed(made.command, made.one("2", "3"), mode, made.one(Shuffled, Broadcast), made.rows)
    }
}
