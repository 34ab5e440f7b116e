package io.aqeplugin.e2e

import scala.util.Random

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.place.PlaceFilters

/** Random queries: trees of joins, aggregates, windows, unions and limits over small tables. Each seed is one query, so a failure can be
  * reproduced.
  */
class RandomQueriesSuite extends AnyFunSuite with PluginSession {
  import RandomQueriesSuite._

  private val Seeds = 1 to Extent.cases(sample = 4, whole = 100)

  /** Whether filters reach sources of every format, by keys that are computed. */
  protected def computes: Boolean = true

  private val Strategies = Seq(
    Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1"),
    Seq("spark.sql.autoBroadcastJoinThreshold" -> "10m"),
    Seq("spark.sql.autoBroadcastJoinThreshold" -> "1"),
    Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "10m")
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val formats = Seq("parquet", "orc", "json", "parquet")
    for ((rows, i) <- Seq(240, 120, 40, 12).zipWithIndex) {
      val columns =
        s"IF(id % 11 = 3, NULL, CAST(id * 7 % ${60 - 12 * i} AS int)) AS a, CAST(id % ${5 + 3 * i} AS int) AS b, CAST(id % 17 AS bigint) AS c"
      table(s"t$i", s"SELECT $columns FROM range($rows)", formats(i), files = 2)
    }
  }

  private def sameRowsOfAll(makeQuery: QueryGen => String, computesKeys: Boolean = false): Seq[Ran] = Seeds.map { seed =>
    val query = makeQuery(new QueryGen(new Random(seed), computesKeys))
    withClue(s"seed $seed: $query\n") {
      withConf(Strategies(seed % Strategies.size): _*)(sameRows(spark.sql(query)))
    }
  }

  private def unions(ran: Ran): Int = outcomes(ran).filter(_.hasNonNull("anyOf")).map(_.path("anyOf").asText).distinct.size

  test("random queries return the same rows with and without the plugin") { val _ = sameRowsOfAll(_.relation(3)) }

  test("random queries whose keys are computed return the same rows with and without the plugin") {
    val ran = sameRowsOfAll(_.relation(3), computesKeys = true)
    assert(!computes || ran.flatMap(filtered).exists(_.matches(".*[(].*[(].*")))
  }

  test("random queries that use a part of theirs several times return the same rows with and without the plugin") {
    val _ = sameRowsOfAll(_.repeating(2))
  }

  test("random queries whose uses of a part are joined to other tables keep the rows of all uses") {
    assert(sameRowsOfAll(_.dividing()).map(unions).sum >= (if (computes) Seeds.size / 4 else 0))
  }

  test("random queries of which some plans are looked at, some only after a stage, return the same rows with and without the plugin") {
    val codes = for (seed <- 1 to Extent.cases(sample = 6, whole = 300)) yield {
      val gen = new QueryGen(new Random(seed))
      val query = if (seed % 3 == 0) gen.repeating(2) else gen.relation(3)
      val lookNanos = Seq(10000, 50000, 300000)(seed % 3)
      withClue(s"seed $seed, $lookNanos ns: $query\n") {
        withConf(Strategies(seed % Strategies.size) ++ CheapFilters :+ (AqeConf.CostLookNanosPerJoin.key -> lookNanos.toString): _*) {
          val expected = withoutPlugin(spark.sql(query))
          val on = ran(spark.sql(query))
          assert(on.rows == expected, s"the plugin changed the rows of\n${on.plan}")
          on.decided.map(_.decision.get("reason").get("code").textValue == "NOT_WORTH_LOOKING") -> filtered(on).nonEmpty
        }
      }
    }
    assert(codes.exists(_._1.contains(true)) && codes.exists(_._1.contains(false)), "the prices no longer fit the tables")
    assert(!computes || codes.exists(_._2), "no query has a filter")
  }

  test("no exchange of a random query waits for a filter that waits for the exchange") {
    for (seed <- 1 to Extent.cases(sample = 30, whole = 400)) {
      val gen = new QueryGen(new Random(seed))
      val query = if (seed % 2 == 0) gen.repeating(2) else gen.dividing()
      withConf(Strategies(seed % Strategies.size) :+ ("spark.aqePlugin.test.openGates" -> "true"): _*) {
        val plan = spark.sql(query).queryExecution.executedPlan.collectFirst { case adaptive: AdaptiveSparkPlanExec =>
          adaptive.executedPlan
        }
        val waiting = plan.toSeq.flatMap(_.collect { case exchange: Exchange if isWaitingForItself(exchange) => exchange })
        assert(waiting.isEmpty, s"seed $seed: $query\n${plan.mkString}")
      }
    }
  }

  /** Whether an equal exchange is among its inputs, or among the sources of filters there. */
  private def isWaitingForItself(exchange: Exchange): Boolean = {
    val own = PlaceFilters.strip(exchange).canonicalized
    def inputs(plan: SparkPlan): Seq[SparkPlan] = plan.children.flatMap(child => child +: inputs(child))
    inputs(exchange).exists {
      case other: Exchange => PlaceFilters.strip(other).canonicalized == own
      case _               => false
    }
  }
}

object RandomQueriesSuite {

  /** Filters pay if they remove any row. */
  private val CheapFilters: Seq[(String, String)] = Seq(
    AqeConf.CostJobLaunchNanos,
    AqeConf.CostFileOpenNanos,
    AqeConf.CostFilterBuildNanosPerRow,
    AqeConf.CostFilterCheckNanosPerRow,
    AqeConf.CostFilterHashNanosPerColumn,
    AqeConf.CostTieRatio,
    AqeConf.FilterMinProbeRows
  ).map(_.key -> "0")

  /** Relations with the columns a (int, may be null), b (int) and c (bigint). */
  private final class QueryGen(random: Random, computesKeys: Boolean = false) {
    private var aliases = 0

    private def alias(): String = {
      aliases += 1
      s"q$aliases"
    }

    private def oneOf[A](options: A*): A = options(random.nextInt(options.size))

    private def column: String = oneOf("a", "b", "c")

    private def columns: String = "a, b, c"

    def relation(depth: Int): String =
      if (depth == 0) s"SELECT $columns FROM t${random.nextInt(4)} WHERE ${condition}"
      else
        random.nextInt(if (computesKeys) 14 else 12) match {
          case 12 | 13 =>
            s"SELECT ${oneOf("coalesce(a, 3)", "a + 1", "nullif(a, 4)", "CAST(a AS double) * 2")} AS a, b, c FROM (${relation(depth - 1)})"
          case 0 => s"SELECT $columns FROM (${relation(depth - 1)}) WHERE $condition"
          case 1 => s"SELECT b AS a, max(a) AS b, c FROM (${relation(depth - 1)}) GROUP BY b, c"
          case 2 => s"SELECT a, b, sum(c) AS c FROM (${relation(depth - 1)}) GROUP BY a, b"
          case 3 => s"SELECT a, b, count(*) OVER (PARTITION BY $column) AS c FROM (${relation(depth - 1)})"
          case 4 => s"SELECT $columns FROM (${relation(depth - 1)}) UNION ALL SELECT b, a, c FROM (${relation(depth - 1)})"
          case 5 => s"SELECT DISTINCT $columns FROM (${relation(depth - 1)})"
          case 6 => s"SELECT $columns FROM (${relation(depth - 1)}) ORDER BY a, b, c LIMIT ${5 + random.nextInt(40)}"
          case _ => join(depth)
        }

    private def join(depth: Int): String = {
      val (left, right) = (relation(depth - 1), relation(random.nextInt(depth)))
      val (l, r) = (alias(), alias())
      val more = if (random.nextInt(3) == 0) s" AND $l.${column} <> $r.${column}" else ""
      val keys = if (computesKeys && random.nextInt(3) > 0) computed(l, r)
      else oneOf(
        s"$l.${column} = $r.${column}",
        s"$l.a = $r.a AND $l.${oneOf("b", "c")} = $r.${oneOf("b", "c")}",
        s"$l.a = $r.b"
      )
      val mixed = s"SELECT $l.a AS a, $r.b AS b, ${oneOf(l, r)}.c AS c FROM ($left) $l"
      val own = s"SELECT $columns FROM ($left) $l"
      random.nextInt(9) match {
        case 0 => s"$mixed LEFT JOIN ($right) $r ON $keys$more"
        case 1 => s"$mixed RIGHT JOIN ($right) $r ON $keys$more"
        case 2 => s"$mixed FULL JOIN ($right) $r ON $keys"
        case 3 => s"$own LEFT SEMI JOIN ($right) $r ON $keys$more"
        case 4 => s"$own LEFT ANTI JOIN ($right) $r ON $keys$more"
        case 5 => s"SELECT $columns FROM ($left) $l WHERE $l.$column NOT IN (SELECT $r.$column FROM ($right) $r)"
        case 6 => s"SELECT $columns FROM ($left) $l WHERE EXISTS (SELECT 1 FROM ($right) $r WHERE $keys$more) OR $l.b = 1"
        case _ => s"$mixed JOIN ($right) $r ON $keys$more"
      }
    }

    private def computed(l: String, r: String): String = oneOf(
      s"$l.a <=> $r.a",
      s"coalesce($l.a, 0) = $r.$column",
      s"$l.$column = coalesce($r.a, 1)",
      s"$l.$column + 1 = $r.$column",
      s"CAST($l.$column AS string) = CAST($r.$column AS string)",
      s"$l.$column % 4 = $r.b AND $l.a <=> $r.a",
      s"isnull($l.a) = ($r.b = 1)"
    )

    /** A relation in several places, often joined in the same way. Spark runs equal parts once. */
    def repeating(depth: Int): String = {
      val part = relation(depth)
      val partner = relation(1)
      val key = column
      val joined = s"SELECT p.a AS a, p.b AS b, o.c AS c FROM ($part) p JOIN ($partner) o ON p.$key = o.$key"
      def use: String = random.nextInt(6) match {
        case 0 => part
        case 1 => s"SELECT p.a AS a, o.b AS b, p.c AS c FROM ($part) p JOIN (${relation(1)}) o ON p.$key = o.$key"
        case 2 => s"SELECT $columns FROM ($joined) WHERE $condition"
        case 3 => s"SELECT j.a AS a, j.b AS b, j.c AS c FROM ($joined) j JOIN (${relation(1)}) r ON j.b = r.b"
        case _ => joined
      }
      random.nextInt(4) match {
        case 0 => s"$use UNION ALL $use"
        case 1 => s"SELECT u.a AS a, v.b AS b, v.c AS c FROM ($use) u JOIN ($use) v ON u.$column = v.$column"
        case 2 => s"SELECT u.a AS a, u.b AS b, u.c AS c FROM ($use) u WHERE u.$column IN (SELECT v.$column FROM ($use) v)"
        case _ => s"SELECT u.a, u.b, v.c FROM ($use) u JOIN ($use) v ON u.$key = v.$key JOIN ($use) w ON v.$column = w.$column"
      }
    }

    /** An aggregate in several places, each joined to a part of a smaller table on the same column. */
    def dividing(): String = {
      val part = s"SELECT a, b, sum(c) AS c FROM t0 WHERE a IS NOT NULL AND b IS NOT NULL AND $condition GROUP BY a, b"
      val key = oneOf("a", "b")
      def use: String = {
        val kind = oneOf("JOIN", "JOIN", "JOIN", "JOIN", "JOIN", "LEFT SEMI JOIN", "RIGHT JOIN", "LEFT JOIN")
        val half = oneOf("c % 2 = 0", "c % 2 = 1", "c % 3 = 0", "c < 9", "c > 5")
        val joined =
          s"SELECT p.a AS a, p.b AS b, p.c AS c FROM ($part) p $kind (SELECT * FROM t${2 + random.nextInt(2)} WHERE $half) o ON p.$key = o.$key"
        if (random.nextInt(6) == 0) s"SELECT j.* FROM ($joined) j JOIN (SELECT * FROM t3 WHERE $condition) n ON j.b = n.b" else joined
      }
      random.nextInt(3) match {
        case 0 => s"$use UNION ALL $use"
        case 1 => s"$use UNION ALL $use UNION ALL $use"
        case _ =>
          s"SELECT u.a, u.b + v.b AS b, u.c + v.c AS c FROM ($use) u ${oneOf("JOIN", "LEFT JOIN", "FULL JOIN")} ($use) v ON u.$key = v.$key"
      }
    }

    private def condition: String =
      oneOf(
        "true",
        "b < 3",
        "a > 20",
        "c % 2 = 0",
        "a IS NOT NULL",
        "b BETWEEN 1 AND 2",
        s"c IN (SELECT c FROM t3 WHERE b = ${random.nextInt(4)})"
      )
  }
}
