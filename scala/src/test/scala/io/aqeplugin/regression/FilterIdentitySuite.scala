package io.aqeplugin.regression

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.exec.FilterSource

/** Filters that were mistaken for one another, and relations that were read too often. */
class FilterIdentitySuite extends AnyFunSuite with PluginSession {
  test("joins with the keys of one build side in different orders have own filters") {
    spark.range(0, 200).selectExpr("id", "array(id * 10, id * 10 + 1) AS arr").write.parquet(folder.resolve("t").toString)
    spark.range(
      0,
      3000
    ).selectExpr("id % 300 AS a", "(id % 300) * 10 + id % 3 AS b", "id AS n").write.parquet(folder.resolve("p1").toString)
    spark.range(
      0,
      3000
    ).selectExpr("id % 300 AS z", "(id % 300) * 10 + id % 3 AS a", "id AS n").write.parquet(folder.resolve("p2").toString)
    Seq("t", "p1", "p2").foreach(name => spark.read.parquet(folder.resolve(name).toString).createOrReplaceTempView(name))
    val query =
      """WITH b AS (SELECT id, e FROM t LATERAL VIEW explode(arr) x AS e)
        |SELECT p1.n, b.e FROM p1 JOIN b ON p1.a = b.id AND p1.b = b.e
        |UNION ALL
        |SELECT p2.n, b.e FROM p2 JOIN b ON p2.z = b.id AND p2.a = b.e""".stripMargin
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val result = sameRows(spark.sql(query))
      assert(result.rows.nonEmpty)
      assert(filtered(result) == Seq("p1(a,b)", "p2(a,z)"))
      assert(outcomes(result).forall(o => o.path("rowsOut").asLong < o.path("rowsIn").asLong), outcomes(result))
    }
  }

  test("a relation with many rows per key is read once") {
    spark.range(0, 60000).selectExpr("IF(id < 59000, 'same', concat('k', id)) AS s", "id AS i").write.parquet(folder.resolve("d").toString)
    spark.range(0, 2000).selectExpr("concat('k', id + 58000) AS s", "id AS n").write.parquet(folder.resolve("p").toString)
    // Made anew for each run, because a frame keeps its first plan.
    def query =
      spark.read.parquet(folder.resolve("p").toString).join(spark.read.parquet(folder.resolve("d").toString).hint("broadcast"), "s")
    val ran = sameRows(query)
    assert(outcomes(ran).nonEmpty && outcomes(ran).map(_.get("kind").asText).forall(_ != "pass_all"), ran.decided)
    val read = filters(ran.plan).flatMap(_.sources).flatMap(FilterSource.exchange(_)).map(_.metrics("keys").value)
    assert(read == Seq(60000L))
  }
}
