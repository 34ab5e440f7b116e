package io.aqeplugin.exec

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.sketch.KeySummary

/** What is known of the keys of a broadcast that no task sketched. */
class RelationKeysSuite extends AnyFunSuite with PluginSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "facts",
      "SELECT id % 1000 AS k, CAST(id % 1000 AS string) AS s, CAST(id % 7 AS int) AS day, sha2(CAST(id AS string), 256) AS rest FROM range(20000)"
    )
    // Ten rows of each of 40 keys, and ten without one.
    table(
      "repeated",
      "SELECT if(k = 40, NULL, k) AS k, if(k = 40, NULL, CAST(k AS string)) AS s, CAST(k % 3 AS int) AS day FROM " +
        "(SELECT id % 41 AS k FROM range(410))"
    )
    table("unique", "SELECT id * 3 AS k, CAST(id * 3 AS string) AS s, CAST(id % 3 AS int) AS day FROM range(50)")
    table("many", "SELECT if(id = 3000, NULL, id) AS k FROM range(3001)")
    table("pairs", "SELECT id AS k, explode(array(1L, 2L)) AS n FROM range(1500)")
  }

  private def keysOf(query: DataFrame, columns: String*): Option[KeySummary] = {
    val plan = withPlugin(query).plan
    val stage = collect(plan) { case stage: BroadcastQueryStageExec => stage }.headOption.getOrElse(fail(s"no broadcast in\n$plan"))
    BuildRecord.keysRead(stage, columns.map(name => stage.output.find(_.name == name).getOrElse(fail(s"no $name in ${stage.output}"))))
  }

  /** With the rows of the build side that have no key. */
  private def observed(build: String, columns: String*): Option[KeySummary] =
    withConf(
      "spark.aqePlugin.mode" -> "observe",
      "spark.sql.autoBroadcastJoinThreshold" -> "10MB",
      "spark.sql.constraintPropagation.enabled" -> "false"
    ) {
      keysOf(
        spark.sql(s"SELECT count(*), count(b.${columns.head}) FROM facts f JOIN $build b USING (${columns.mkString(", ")})"),
        columns: _*
      )
    }

  for (column <- Seq("k", "s"))
    test(s"every row of a repeated key counts, and its key once: $column") {
      val seen = observed("repeated", column).getOrElse(fail("the keys were not read"))
      assert((seen.rows, seen.nulls, seen.distinct, seen.codes.map(_.length)) == ((410L, 10L, 40L, Some(40))))
    }

  test("an integer has its range and its values") {
    val seen = observed("unique", "k").getOrElse(fail("the keys were not read"))
    assert(seen.codes.map(_.toSeq).contains((0L until 150L by 3).toSeq))
    assert(seen.range.map(range => (range.min, range.max)).contains((0L, 147L)))
  }

  test("few strings are kept") {
    val seen = observed("unique", "s").getOrElse(fail("the keys were not read"))
    assert(seen.texts.flatten.flatten.map(_.toString).toSet == (0L until 150L by 3).map(_.toString).toSet)
  }

  test("of a key of two columns, each column is known") {
    val seen = observed("unique", "day", "k").getOrElse(fail("the keys were not read"))
    assert(seen.distinct == 50L)
    assert(seen.columns.map(_.range.map(range => (range.min, range.max))) == Seq(Some((0L, 2L)), Some((0L, 147L))))
  }

  test("many unique keys are only counted") {
    val seen = observed("many", "k").getOrElse(fail("the relation was not asked"))
    assert((seen.rows, seen.nulls, seen.distinct, seen.codes, seen.range) == ((3001L, 1L, 3000L, None, None)))
  }

  test("of many keys that repeat, nothing is known") {
    assert(observed("pairs", "k").isEmpty)
  }

  test("two rows with one key may have two keys of the join, of which the filter holds one") {
    withConf("spark.aqePlugin.mode" -> "observe", "spark.sql.autoBroadcastJoinThreshold" -> "10MB") {
      val query = spark.sql("SELECT count(*), count(b.k) FROM facts f JOIN pairs b ON f.k = b.k AND array(f.k, f.day) = array(b.k, b.n)")
      assert(keysOf(query, "k").isEmpty)
    }
  }

  test("the decision has the number of keys") {
    withConf("spark.aqePlugin.mode" -> "observe", "spark.sql.autoBroadcastJoinThreshold" -> "10MB") {
      val decided = withPlugin(spark.sql("SELECT count(*) FROM facts f JOIN repeated b USING (k)")).decided
      assert(decided.map(_.decision.at("/facts/build/keys/distinct").asLong) == Seq(40L), decided)
    }
  }
}
