package io.aqeplugin.e2e

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Random joins that compare by order. Each seed is one query, so a failure can be reproduced. */
class RangeQueriesSuite extends AnyFunSuite with PluginSession {
  import RangeQueriesSuite._

  private val Seeds = 1 to Extent.cases(sample = 12, whole = 1000)

  // These queries are tiny: compiling one takes longer than running it.
  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN", "spark.sql.shuffle.partitions" -> "2")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for ((rows, i) <- Seq(60, 8, 5).zipWithIndex) {
      val columns = s"IF(id % 7 = $i, NULL, CAST(id * 5 % ${31 - 8 * i} AS int)) AS a, CAST(id * ${i + 2} % 19 AS bigint) AS b, " +
        s"date_add(DATE'2020-01-0${1 + i}', CAST(id * 3 % 13 AS int)) AS d, timestamp_micros(id * ${7 + i} % 29 * 1000000) AS ts, " +
        "CAST(id % 3 AS int) AS k, IF(id % 6 = 5, NULL, CAST(id % 9 AS int)) AS part"
      val path = folder.resolve(s"ranges-$i").toString
      withConf("spark.aqePlugin.mode" -> "off") {
        spark.sql(s"SELECT $columns FROM range($rows)").repartition(1).write.partitionBy("part").parquet(path)
      }
      spark.read.parquet(path).createOrReplaceTempView(s"t$i")
    }
  }

  test("joins with random ranges return the same rows with and without the plugin, and many of them get a range filter") {
    val filtered = Seeds.count { seed =>
      val random = new Random(seed)
      val threshold = if (random.nextBoolean()) "10m" else "-1"
      val query = new QueryGen(random).query
      val conf = Seq(
        "spark.sql.autoBroadcastJoinThreshold" -> threshold,
        "spark.sql.adaptive.autoBroadcastJoinThreshold" -> (if (random.nextBoolean()) "10m" else "-1"),
        "spark.sql.ansi.enabled" -> random.nextBoolean().toString
      )
      withClue(s"seed $seed, ${conf.mkString(", ")}: $query\n") {
        withConf(conf: _*)(outcomes(sameRows(spark.sql(query))).exists(_.path("kind").asText == "range"))
      }
    }
    assert(filtered > Seeds.size / 4)
  }
}

object RangeQueriesSuite {
  private final class QueryGen(random: Random) {
    private def oneOf[A](options: A*): A = options(random.nextInt(options.size))

    def query: String = {
      val kind = oneOf("JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
      val hint = oneOf("", "", "/*+ BROADCAST(y) */", "/*+ BROADCAST(x) */")
      val (first, second) = oneOf((0, 1), (0, 2), (1, 0), (2, 0))
      val isSingle = kind.contains("SEMI") || kind.contains("ANTI")
      val isTriple = random.nextInt(3) == 0
      val third = if (!isTriple) "" else s" JOIN ${relation(2)} z ON ${condition("x", "z")}"
      val sides = Seq("x") ++ (if (isSingle) Nil else Seq("y")) ++ (if (isTriple) Seq("z") else Nil)
      val where = oneOf("", "", " WHERE x.b > 3", " WHERE x.part < 6 AND x.d > DATE'2020-01-04'")
      s"SELECT $hint ${sides.flatMap(side => Seq(s"$side.a", s"$side.b", s"$side.d", s"$side.part")).mkString(", ")} " +
        s"FROM ${relation(first)} x $kind ${relation(second)} y ON ${condition("x", "y")}$third$where"
    }

    private def relation(i: Int): String = random.nextInt(6) match {
      case 0 => s"(SELECT a, max(b) AS b, d, max(ts) AS ts, k, part FROM t$i GROUP BY a, d, k, part)"
      case 1 => s"(SELECT part AS a, b, d, ts, k, a AS part FROM t$i WHERE b > 1)"
      case 2 => s"(SELECT a, b, date_add(d, 2) AS d, ts, k, part FROM t$i UNION ALL SELECT a, b, d, ts, k, part FROM t$i WHERE k = 1)"
      case _ => s"t$i"
    }

    private def condition(x: String, y: String): String = {
      val keys = if (random.nextBoolean()) Seq(s"$x.k = $y.k") else Nil
      (keys ++ Seq.fill(1 + random.nextInt(2))(range(x, y))).mkString(" AND ")
    }

    private def range(x: String, y: String): String = {
      val (a, b) = oneOf((x, y), (y, x))
      val n = random.nextInt(5)
      random.nextInt(8) match {
        case 0 => s"$a.part BETWEEN $b.a AND $b.a + $n"
        case 1 => s"$a.a BETWEEN $b.b - $n AND $b.b"
        case 2 => s"$a.d BETWEEN $b.d AND $b.d + $n"
        case 3 => s"$a.d - $n <= $b.d AND $a.d >= date_sub($b.d, $n)"
        case 4 => s"$a.ts > $b.ts AND $a.ts <= $b.ts"
        case 5 => s"$a.part ${oneOf("<", "<=", ">", ">=")} $b.${oneOf("a", "b", "part")}"
        case 6 => s"$a.b + $n ${oneOf("<", ">=")} $b.a AND NOT ($a.b > $b.b)"
        case _ => s"$a.ts BETWEEN $b.ts AND $b.ts + INTERVAL $n SECONDS"
      }
    }
  }
}
