package io.aqeplugin.e2e

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.JoinKind

/** Every join type, key type, shape of data, format and strategy: the same rows without and with the plugin, and a filter exactly where one is
  * legal. In each test join type and one more vary freely, the others go round with them.
  */
class JoinMatrixSuite extends AnyFunSuite with PluginSession {
  import JoinMatrixSuite._
  import JoinTables._

  private val expectedRows = mutable.Map.empty[(JoinKind, String, Shape), Seq[String]]

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    withConf("spark.aqePlugin.mode" -> "off")(JoinTables.register(spark, folder.toString))
  }

  for ((kind, k) <- JoinKind.All.zipWithIndex) {
    test(s"${kind.name} joins: every key type") {
      for ((key, i) <- Keys.zipWithIndex) {
        val shape = Shape.All((i + k) % Shape.All.size)
        val second = Strategies((i + k) % Strategies.size)
        for ((strategy, s) <- Seq(SortMerge, second).distinct.zipWithIndex)
          check(kind, key, shape, Formats((i + k / 2 + s) % Formats.size), strategy)
      }
    }
    test(s"${kind.name} joins: every shape of data, by files and by rows") {
      for ((shape, i) <- Shape.All.zipWithIndex; f <- Seq(0, 2)) {
        val format = Formats((i + k) % 2 + f)
        check(kind, Keys.head, shape, format, Strategies((i + f / 2 + k) % Strategies.size))
      }
    }
  }

  private def check(kind: JoinKind, key: Key, shape: Shape, format: String, strategy: JoinStrategy): Unit = {
    val query = sql(kind, key, probe(format), build(shape, format))
    val clue = s"${kind.name} on ${key.name}, ${shape.name}, $format, ${strategy.name}"
    val _ = withClue(clue) {
      val expected = expectedRows.getOrElseUpdate((kind, key.name, shape), withoutPlugin(spark.sql(query)))
      withConf(strategy.conf: _*) {
        val result = withPlugin(spark.sql(query))
        assert(result.rows == expected, s"the plugin changed the rows of\n${result.plan}")
        val isLegal = key.supported && strategy.mayFilter(kind)
        val hasFilter = filters(result.plan).nonEmpty
        assert(isLegal || !hasFilter, s"a filter that is not legal in\n${result.plan}")
        // A side that turns out empty makes AQE drop the join, and with it the stage that had the filter.
        shape match {
          case Shape.Empty | Shape.AllNull => succeed
          case Shape.NoneMatch             => assert(wantedFilter(result) == isLegal, s"decisions: ${result.decided}")
          case _                           => assert(hasFilter == isLegal, s"filter: $hasFilter in\n${result.plan}")
        }
      }
    }
  }

  private def wantedFilter(ran: Ran): Boolean = ran.decided.exists(_.decision.path("buildFilter").asBoolean)

  private def sql(kind: JoinKind, key: Key, p: String, b: String): String = {
    val both = "SELECT p.id, p.k_int, p.k_string, b.id, b.k_int, b.k_string"
    val left = "SELECT p.id, p.k_int, p.k_string"
    kind match {
      case JoinKind.Inner         => s"$both FROM $p p JOIN $b b ON ${key.key}"
      case JoinKind.LeftOuter     => s"$both FROM $p p LEFT JOIN $b b ON ${key.key}"
      case JoinKind.RightOuter    => s"$both FROM $p p RIGHT JOIN $b b ON ${key.key}"
      case JoinKind.FullOuter     => s"$both FROM $p p FULL JOIN $b b ON ${key.key}"
      case JoinKind.LeftSemi      => s"$left FROM $p p LEFT SEMI JOIN $b b ON ${key.key}"
      case JoinKind.LeftAnti      => s"$left FROM $p p LEFT ANTI JOIN $b b ON ${key.key}"
      case JoinKind.NullAwareAnti => s"$left FROM $p p WHERE ${key.probeColumn} NOT IN (SELECT ${key.buildColumn} FROM $b b)"
      case JoinKind.Existence     => s"$left FROM $p p WHERE EXISTS (SELECT 1 FROM $b b WHERE ${key.key}) OR p.id < 10"
    }
  }
}

object JoinMatrixSuite {

  /** How Spark is led to join, and which joins may then have a filter. */
  sealed abstract class JoinStrategy(val name: String, val conf: (String, String)*) {
    def mayFilter(kind: JoinKind): Boolean
  }

  private val Threshold = "spark.sql.autoBroadcastJoinThreshold"
  private val AdaptiveThreshold = "spark.sql.adaptive.autoBroadcastJoinThreshold"

  private def eitherSide(kind: JoinKind): Boolean = kind match {
    case JoinKind.FullOuter | JoinKind.NullAwareAnti => false
    case _                                           => true
  }

  /** The broadcast side is the build side, so the other one must be free to lose rows. */
  case object Broadcast extends JoinStrategy("broadcast", Threshold -> "10m", AdaptiveThreshold -> "10m") {
    def mayFilter(kind: JoinKind): Boolean = kind == JoinKind.Inner || kind == JoinKind.LeftSemi
  }
  case object SortMerge extends JoinStrategy("sort-merge", Threshold -> "-1", AdaptiveThreshold -> "-1") {
    def mayFilter(kind: JoinKind): Boolean = eitherSide(kind)
  }

  /** Sort-merge at first, and broadcast by Spark once a side has turned out small. */
  case object Adaptive extends JoinStrategy("adaptive", Threshold -> "-1", AdaptiveThreshold -> "10m") {
    def mayFilter(kind: JoinKind): Boolean = eitherSide(kind)
  }

  /** Sort-merge by Spark, and broadcast by the plugin once its build side is done. */
  case object Promoted extends JoinStrategy("promoted", Threshold -> "1", AdaptiveThreshold -> "1") {
    def mayFilter(kind: JoinKind): Boolean = eitherSide(kind)
  }

  val Strategies: Seq[JoinStrategy] = Seq(Broadcast, Adaptive, Promoted, SortMerge)
}
