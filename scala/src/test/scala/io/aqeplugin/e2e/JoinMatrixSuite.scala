package io.aqeplugin.e2e

import org.apache.spark.sql.execution.joins.{BaseJoinExec, BroadcastHashJoinExec, BroadcastNestedLoopJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.JoinKind

/** Compares every join type × key type × data shape with the same query without the plugin: the same rows, the decided join, and a filter
  * exactly where one is legal. Strategies and formats rotate, so that each occurs with every join type, key type and shape.
  */
class JoinMatrixSuite extends AnyFunSuite with PluginSession {
  import JoinMatrixSuite._
  import JoinTables._

  override protected def applicationConf: Map[String, String] = Map("spark.sql.shuffle.partitions" -> "2")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    withConf("spark.aqePlugin.mode" -> "off")(JoinTables.register(spark, folder.toString))
  }

  for ((kind, k) <- JoinKind.All.zipWithIndex) test(s"${kind.name} joins: every key type with every shape of data") {
    for ((key, i) <- Keys.zipWithIndex) {
      val shapes = Shape.All.zipWithIndex.filter { case (_, s) => isIncluded(k, i, s) }
      val expected = rowsByShape(kind, key, shapes.map(_._1))
      for ((shape, s) <- shapes)
        check(kind, key, shape, Formats((i / 2 + k) % Formats.size), Strategies((i / 2 + s) % Strategies.size), expected(shape))
    }
  }

  /** The rows of all these joins without the plugin, from one query. */
  private def rowsByShape(kind: JoinKind, key: Key, shapes: Seq[Shape]): Map[Shape, Seq[String]] = {
    val all = shapes.map(shape => s"SELECT '${shape.name}' AS shape, q.* FROM (${sql(kind, key, probe("local"), build(shape, "local"))}) q")
    // Not as whole stages: compiling seven joins takes longer than running them.
    val plain = Seq("spark.sql.adaptive.enabled" -> "false", "spark.sql.codegen.wholeStage" -> "false")
    val rows = withConf(plain: _*)(withoutPlugin(spark.sql(all.mkString(" UNION ALL "))))
    shapes.map { shape =>
      val head = s"[${shape.name}, "
      shape -> rows.filter(_.startsWith(head)).map(row => s"[${row.stripPrefix(head)}")
    }.toMap
  }

  /** Whether Spark carries its plans out itself. */
  protected def isSparks: Boolean = true

  private def check(kind: JoinKind, key: Key, shape: Shape, format: String, strategy: JoinStrategy, expected: Seq[String]): Unit = {
    val query = sql(kind, key, probe(format), build(shape, format))
    val clue = s"${kind.name} on ${key.name}, ${shape.name}, $format, ${strategy.name}"
    val _ = withClue(clue) {
      withConf(strategy.conf: _*) {
        val result = withPlugin(spark.sql(query))
        assert(result.rows == expected, s"the plugin changed the rows of\n${result.plan}")
        // Keys that cannot be hashed are merged, whatever Spark would like.
        val joined = if (key.hashed) strategy else JoinMatrixSuite.SortMerge
        val isLegal = key.supported && joined.mayFilter(kind)
        val hasFilter = if (isSparks) filters(result.plan).nonEmpty else outcomes(result).nonEmpty
        assert(isLegal || !hasFilter, s"a filter that is not legal in\n${result.plan}")
        if (isSparks) {
          val joins = collect(result.plan) { case j: BaseJoinExec => j.getClass: JoinClass }
          assert(possibleJoins(kind, key, shape, strategy).contains(joins), s"joins: $joins in\n${result.plan}")
          // If a side turns out empty, AQE drops the join and with it the stage that had the filter.
          shape match {
            case Shape.Empty | Shape.AllNull => assert(isLegal || !wantedFilter(result), s"decisions: ${result.decided}")
            case Shape.NoneMatch             => assert(wantedFilter(result) == isLegal, s"decisions: ${result.decided}")
            case _                           => assert(hasFilter == isLegal, s"filter: $hasFilter in\n${result.plan}")
          }
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
  import JoinTables.{Key, Shape}

  type JoinClass = Class[_ <: BaseJoinExec]

  private val Hashed: JoinClass = classOf[BroadcastHashJoinExec]
  private val Merged: JoinClass = classOf[SortMergeJoinExec]
  private val NestedLoop: JoinClass = classOf[BroadcastNestedLoopJoinExec]

  /** The joins that the final plan may have. There may be none if AQE sees an empty side, or a null in NOT IN. */
  private def possibleJoins(kind: JoinKind, key: Key, shape: Shape, strategy: JoinStrategy): Set[Seq[JoinClass]] = {
    val isEmptied = (kind, shape) match {
      case (JoinKind.Inner | JoinKind.LeftSemi, Shape.Empty | Shape.AllNull)          => key.hashed
      case (JoinKind.LeftOuter | JoinKind.FullOuter | JoinKind.LeftAnti, Shape.Empty) => true
      case _                                                                          => false
    }
    val joined: Set[JoinClass] = (kind, shape) match {
      // Spark 4.2 hashes NOT IN only where the build side is below the broadcast threshold, and merges keys that cannot be null.
      case (JoinKind.NullAwareAnti, _)                                         => Set(Hashed, NestedLoop, Merged)
      case _ if kind == JoinKind.FullOuter || !key.hashed                      => Set(Merged)
      case (JoinKind.Existence, Shape.Empty | Shape.AllNull | Shape.NoneMatch) =>
        // No row passes a filter, and an empty side is below all of Spark's thresholds.
        if (strategy == SortMerge) Set(Merged) else Set(strategy.join(kind, key), Hashed)
      case _ => Set(strategy.join(kind, key))
    }
    val mayBeDropped = shape match {
      case Shape.Empty | Shape.AllNull | Shape.NoneMatch => true
      case Shape.Mixed                                   => kind == JoinKind.NullAwareAnti
      case _                                             => false
    }
    val none: Set[Seq[JoinClass]] = Set(Nil)
    if (isEmptied) none else joined.map(join => Seq(join): Seq[JoinClass]) ++ (if (mayBeDropped) none else Set.empty)
  }

  /** A sixth of the product, in which every two of the three still meet; `make test-all` tries all of it. */
  private def isIncluded(kind: Int, key: Int, shape: Int): Boolean =
    Extent.TriesAll || (kind + key + shape) % 6 == 0

  /** How Spark is made to choose a join strategy, and which joins may then have a filter. */
  sealed abstract class JoinStrategy(val name: String, val conf: (String, String)*) {
    def mayFilter(kind: JoinKind): Boolean

    /** The join of the final plan when both sides have rows and the join's type and key allow it. */
    def join(kind: JoinKind, key: Key): JoinClass
  }

  private val Threshold = "spark.sql.autoBroadcastJoinThreshold"
  private val AdaptiveThreshold = "spark.sql.adaptive.autoBroadcastJoinThreshold"

  private def eitherSide(kind: JoinKind): Boolean = kind match {
    case JoinKind.FullOuter | JoinKind.NullAwareAnti => false
    case _                                           => true
  }

  /** The broadcast side is the build side, so the other side must be allowed to lose rows. */
  case object Broadcast extends JoinStrategy("broadcast", Threshold -> "10m", AdaptiveThreshold -> "10m") {
    def mayFilter(kind: JoinKind): Boolean = kind == JoinKind.Inner || kind == JoinKind.LeftSemi
    def join(kind: JoinKind, key: Key): JoinClass = Hashed
  }
  case object SortMerge extends JoinStrategy("sort-merge", Threshold -> "-1", AdaptiveThreshold -> "-1") {
    def mayFilter(kind: JoinKind): Boolean = eitherSide(kind)
    def join(kind: JoinKind, key: Key): JoinClass = Merged
  }

  /** Sort-merge at first, and broadcast by Spark once a side has turned out small. */
  case object Adaptive extends JoinStrategy("adaptive", Threshold -> "-1", AdaptiveThreshold -> "10m") {
    def mayFilter(kind: JoinKind): Boolean = eitherSide(kind)
    def join(kind: JoinKind, key: Key): JoinClass = Hashed
  }

  /** Sort-merge by Spark, and broadcast by the plugin once the build side has finished, if that side may be broadcast. */
  case object Promoted
      extends JoinStrategy(
        "promoted",
        Threshold -> "1",
        AdaptiveThreshold -> "1",
        "spark.aqePlugin.cost.jobLaunchNanos" -> "0",
        "spark.aqePlugin.cost.mergeNanosPerRow" -> "100000"
      ) {
    def mayFilter(kind: JoinKind): Boolean = eitherSide(kind)
    def join(kind: JoinKind, key: Key): JoinClass = kind match {
      case JoinKind.Inner | JoinKind.LeftSemi if key.supported => Hashed
      case _                                                   => Merged
    }
  }

  val Strategies: Seq[JoinStrategy] = Seq(Broadcast, Adaptive, Promoted, SortMerge)
}
