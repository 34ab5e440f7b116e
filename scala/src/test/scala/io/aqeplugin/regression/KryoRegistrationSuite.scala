package io.aqeplugin.regression

import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.{PluginSession, Ran}

/** Task results and broadcasts go through `spark.serializer`. With a Kryo that accepts only registered classes, every query with a filter
  * failed, even if the filter passes all rows.
  */
class KryoRegistrationSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map(
    "spark.serializer" -> "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrationRequired" -> "true",
    "spark.sql.adaptive.coalescePartitions.enabled" -> "false"
  )

  private val SortMerge = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("sales", "SELECT CAST(id % 900 AS int) AS item, 'c' || (id % 700) AS customer, id AS v FROM range(5000)", files = 2)
    table("items", "SELECT CAST(id * 11 AS int) AS i, 'n' || id AS name FROM range(50)")
    table("customers", "SELECT 'c' || (id * 13) AS c, id AS cv FROM range(40)")
  }

  private def kinds(ran: Ran): Seq[String] = outcomes(ran).map(_.path("kind").asText)

  private def isFiltered(ran: Ran): Assertion = {
    val used = outcomes(ran)
    assert(used.nonEmpty)
    assert(used.forall(_.path("kind").asText != "pass_all"), used)
    assert(used.exists(o => o.path("rowsOut").asLong < o.path("rowsIn").asLong), used)
  }

  private val ByNumber = "SELECT * FROM sales JOIN items ON item = i"
  private val ByText = "SELECT * FROM sales JOIN customers ON customer = c"

  test("a filter built by few tasks is applied") {
    withConf(SortMerge) {
      isFiltered(sameRows(spark.sql(ByNumber)))
      isFiltered(sameRows(spark.sql(ByText)))
    }
  }

  test("a filter whose parts are merged on executors is applied") {
    withConf(SortMerge, "spark.sql.shuffle.partitions" -> "40") {
      isFiltered(sameRows(spark.sql(ByNumber)))
      isFiltered(sameRows(spark.sql(ByText)))
    }
  }

  test("a Bloom filter is applied") {
    withConf(SortMerge, "spark.aqePlugin.filter.exactMaxKeys" -> "5") {
      val result = sameRows(spark.sql(ByText))
      isFiltered(result)
      assert(kinds(result).contains("split_block_bloom"))
    }
  }

  test("a filter read from a broadcast relation is applied") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m") {
      isFiltered(sameRows(spark.sql(ByNumber)))
    }
  }

  test("a filter that passes all rows does not fail the query") {
    // Keys that a sketch kept make the filter in less than a millisecond; a job takes longer.
    withConf(SortMerge, "spark.aqePlugin.filter.buildTimeout" -> "1", "spark.aqePlugin.sketch.maxKeys" -> "0") {
      assert(kinds(sameRows(spark.sql(ByNumber))).forall(_ == "pass_all"))
    }
  }
}
