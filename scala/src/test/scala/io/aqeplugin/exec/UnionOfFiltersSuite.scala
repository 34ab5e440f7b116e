package io.aqeplugin.exec

import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.filters.FilterLimits

/** A union of filters on one scan: a row passes if it passes one of them, and every row does if one of them cannot be had. */
class UnionOfFiltersSuite extends AnyFunSuite with PluginSession {

  private val limits: BuildLimits =
    BuildLimits(FilterLimits(Long.MaxValue, 100, 1L << 20, 0.01), 10, 30000L, 5000L, 0)

  /** The filter of the numbers from `first` up to `last`. */
  private def filter(first: Long, last: Long): RuntimeFilterExchangeExec = {
    val scan = spark.range(first, last + 1).queryExecution.sparkPlan
    val shuffle = ShuffleExchangeExec(SinglePartition, scan)
    val stage = ShuffleQueryStageExec(0, shuffle, shuffle.canonicalized)
    Await.ready(stage.materialize(), 30.seconds)
    RuntimeFilterExchangeExec(scan.output, stage, limits, s"join of $first")
  }

  /** Its keys belong to another plan, so that its build fails. */
  private def brokenFilter: RuntimeFilterExchangeExec = filter(1, 2).copy(keys = spark.range(1).queryExecution.sparkPlan.output)

  private def filtered(unions: Seq[Int], sources: RuntimeFilterExchangeExec*): RuntimeFilterExec = {
    val scan: SparkPlan = spark.range(100).queryExecution.sparkPlan
    val keys: Seq[Attribute] = scan.output
    val labels = sources.indices.map(i => FilterLabel(s"f$i", s"j$i", "range", Seq("id"), "test")())
    RuntimeFilterExec(scan, sources.map(_ => keys), sources, labels, sources.map(_ => SelfDisable.Never), unions = unions)
  }

  private def rows(plan: RuntimeFilterExec): Seq[Long] = plan.executeCollect().map(_.getLong(0)).toSeq

  test("a row passes a union if it passes one of its filters") {
    assert(rows(filtered(Seq(2), filter(3, 5), filter(90, 200))) == (3L to 5L) ++ (90L to 99L))
  }

  test("filters beside a union all apply") {
    assert(rows(filtered(Seq(1, 2), filter(4, 92), filter(3, 5), filter(90, 200))) == Seq(4L, 5L, 90L, 91L, 92L))
  }

  test("without a union, a row passes all filters") {
    assert(rows(filtered(Nil, filter(3, 50), filter(40, 200))) == (40L to 50L))
  }

  test("a union of which one filter failed passes every row, and the other filters still apply") {
    val broken = filtered(Seq(2, 1), filter(3, 5), brokenFilter, filter(4, 92))
    assert(rows(broken) == (4L to 92L))
    assert(broken.outcomes.map(_.kind).take(2) == Seq("pass_all", "pass_all") && broken.outcomes.forall(_.found))
    assert(broken.outcomes.take(2).forall(_.reason.isDefined))
  }

  test("a union counts its rows once, for its first filter") {
    val plan = filtered(Seq(2), filter(3, 5), filter(90, 200))
    val _ = rows(plan)
    assert(plan.outcomes.map(o => (o.rowsIn, o.rowsOut)) == Seq((100L, 13L), (0L, 0L)))
    assert(plan.outcomes.map(_.anyOf) == Seq("f0", "f0"))
  }

  test("an empty filter adds nothing to a union") {
    assert(rows(filtered(Seq(2), filter(3, 5), filter(1, 0))) == (3L to 5L))
  }

  test("what is known of two filters bounds the keys of both") {
    def keys(range: Option[(Long, Long)], values: Option[Seq[Long]]) = ColumnKeys(range.toSeq, values)
    val small = keys(Some((1L, 2L)), Some(Seq(1L, 2L)))
    val empty = keys(None, Some(Nil))
    val wide = keys(Some((2L, 90L)), None)
    val unknown = keys(None, None)
    def either(one: ColumnKeys, other: ColumnKeys) = {
      val both = ColumnKeys.either(one, other)
      (both.ranges.headOption, both.values)
    }
    assert(either(small, small) == ((Some((1L, 2L)), Some(Seq(1L, 2L)))))
    assert(either(small, keys(Some((5L, 9L)), Some(Seq(5L, 9L)))) == ((Some((1L, 9L)), Some(Seq(1L, 2L, 5L, 9L)))))
    assert(either(small, empty) == ((Some((1L, 2L)), Some(Seq(1L, 2L)))) && either(empty, wide) == ((Some((2L, 90L)), None)))
    assert(either(small, wide) == ((Some((1L, 90L)), None)))
    assert(either(small, unknown) == ((None, None)) && either(unknown, small) == ((None, None)))
    assert(either(empty, empty) == ((None, Some(Nil))))
    val many = keys(Some((0L, ColumnKeys.MaxValues - 1L)), Some(0L until ColumnKeys.MaxValues.toLong))
    assert(either(many, keys(Some((-1L, -1L)), Some(Seq(-1L)))) == ((Some((-1L, ColumnKeys.MaxValues - 1L)), None)))
  }

  test("what is known of two filters over several columns is that of each column") {
    def summary(columns: ColumnKeys*) = FilterSummary("exact", 8, columns, 2, 1)
    val one = summary(ColumnKeys(Seq((1L, 2L)), Some(Seq(1L, 2L))), ColumnKeys(Seq((7L, 7L)), None))
    val other = summary(ColumnKeys(Seq((4L, 4L)), Some(Seq(4L))), ColumnKeys.Unknown)
    assert(FilterSummary.either(one, other).columns == Seq(ColumnKeys(Seq((1L, 4L)), Some(Seq(1L, 2L, 4L))), ColumnKeys.Unknown))
  }
}
