package io.aqeplugin.e2e

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Random joins of two or three tables with mixed predicates in ON and WHERE. Each seed is one query, so a failure can be reproduced. */
class PredicateQueriesSuite extends AnyFunSuite with PluginSession {
  import PredicateQueriesSuite._

  private val Seeds = 1 to Extent.cases(sample = 10, whole = 2000)

  // These queries are tiny: compiling one takes longer than running it.
  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN", "spark.sql.shuffle.partitions" -> "2")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for (i <- 0 to 2) {
      val columns = s"IF(id % 7 = $i, NULL, CAST(id * 5 % 11 AS int)) AS a, CAST(id * ${i + 2} % 9 AS bigint) AS b, " +
        "IF(id % 5 = 1, NULL, concat('s', id % 4)) AS s, date_add(DATE'2020-01-01', CAST(id % 13 AS int)) AS d, " +
        "IF(id % 6 = 5, NULL, CAST(id % 3 AS int)) AS part"
      val path = folder.resolve(s"mixed-$i").toString
      withConf("spark.aqePlugin.mode" -> "off") {
        spark.sql(s"SELECT $columns FROM range(${40 - 8 * i})").repartition(1).write.partitionBy("part").parquet(path)
      }
      spark.read.parquet(path).createOrReplaceTempView(s"t$i")
    }
  }

  test("joins with random predicates return the same rows with and without the plugin") {
    for (seed <- Seeds) {
      val query = new QueryGen(new Random(seed)).query
      val _ = withClue(s"seed $seed: $query\n")(sameRows(spark.sql(query)))
    }
  }
}

object PredicateQueriesSuite {
  private final class QueryGen(random: Random) {
    private def oneOf[A](options: A*): A = options(random.nextInt(options.size))

    def query: String = {
      val kind = oneOf("JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
      val second = oneOf("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
      val own = Seq("x")
      val first = if (kind.contains("SEMI") || kind.contains("ANTI")) own else own :+ "y"
      val isTriple = random.nextBoolean()
      val last = if (!isTriple || second.contains("SEMI") || second.contains("ANTI")) first else first :+ "z"
      val joined = s"FROM ${relation(0)} x $kind ${relation(1)} y ON ${on(own, "y")}" +
        (if (isTriple) s" $second ${relation(2)} z ON ${on(first, "z")}" else "")
      val where = if (random.nextInt(4) == 0) "" else s" WHERE ${condition(last, 2)}"
      s"SELECT ${last.flatMap(side => Seq(s"$side.a", s"$side.s", s"$side.d", s"$side.part")).mkString(", ")} $joined$where"
    }

    private def relation(i: Int): String = random.nextInt(6) match {
      case 0 => s"(SELECT a, max(b) AS b, s, d, part FROM t$i GROUP BY a, s, d, part)"
      case 1 => s"(SELECT part AS a, b, s, d, a AS part FROM t$i WHERE b > 1)"
      case 2 => s"(SELECT a, b + 1 AS b, s, date_add(d, 2) AS d, part FROM t$i)"
      case _ => s"t$i"
    }

    private def on(known: Seq[String], other: String): String = {
      val side = oneOf(known: _*)
      val key = oneOf("a", "b", "s", "part")
      val equal = s"$side.$key = $other.$key"
      val more = oneOf("a", "b", "d")
      random.nextInt(5) match {
        case 0 => s"$equal AND $side.$more < $other.$more"
        case 1 => s"$equal AND $side.d BETWEEN $other.d AND $other.d + ${random.nextInt(4)} AND ${condition(known :+ other, 1)}"
        case 2 => s"$equal AND ${condition(known :+ other, 2)}"
        case 3 => s"$equal AND $side.part = $other.part"
        case _ => equal
      }
    }

    private def condition(sides: Seq[String], depth: Int): String =
      if (depth == 0) leaf(sides)
      else
        random.nextInt(6) match {
          case 0 | 1 => s"(${condition(sides, depth - 1)} AND ${condition(sides, depth - 1)})"
          case 2 | 3 => s"(${condition(sides, depth - 1)} OR ${condition(sides, depth - 1)})"
          case 4     => s"NOT (${condition(sides, depth - 1)})"
          case _     => leaf(sides)
        }

    private def leaf(sides: Seq[String]): String = {
      val (side, other) = (oneOf(sides: _*), oneOf(sides: _*))
      val number = random.nextInt(9).toString
      random.nextInt(9) match {
        case 0 => s"$side.${oneOf("a", "part")} = $number"
        case 1 => s"$side.${oneOf("a", "b")} < $other.${oneOf("a", "b")}"
        case 2 => s"$side.s = '${oneOf("s0", "s1", "s2")}'"
        case 3 => s"$side.${oneOf("a", "s", "part")} IS ${oneOf("", "NOT ")}NULL"
        case 4 => s"$side.d <= DATE'2020-01-0${1 + random.nextInt(9)}'"
        case 5 => s"$side.${oneOf("a", "b", "part")} IN (1, 3, $number)"
        case 6 => s"$side.b - $other.a <= ${random.nextInt(5) - 2}"
        case 7 => s"$side.s LIKE '${oneOf("s%", "%1")}'"
        case _ => s"$side.${oneOf("a", "b", "part")} BETWEEN ${random.nextInt(4)} AND $number"
      }
    }
  }
}
