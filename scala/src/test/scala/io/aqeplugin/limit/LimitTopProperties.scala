package io.aqeplugin.limit

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.e2e.Extent

/** The files for the first rows of a sorted table, against the sorted rows themselves. */
class LimitTopProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = Extent.inputs(3000))

  private type Value = Option[Long]
  private val value: Gen[Value] = Gen.frequency(
    1 -> Gen.const(None),
    5 -> Gen.frequency(
      8 -> Gen.choose(-6L, 6L),
      1 -> Gen.oneOf(Long.MinValue, Long.MaxValue)
    ).map(Some(_))
  )
  private val file: Gen[(Vector[Value], Boolean, Boolean)] =
    Gen.zip(Gen.choose(0, 5).flatMap(Gen.containerOfN[Vector, Value](_, value)), Gen.prob(0.85), Gen.prob(0.8))
  private val tables: Gen[Vector[(Vector[Value], Boolean, Boolean)]] =
    Gen.choose(1, 7).flatMap(Gen.containerOfN[Vector, (Vector[Value], Boolean, Boolean)](_, file))

  private def factsOf(values: Vector[Value], nullsKnown: Boolean): KeyedFile = KeyedFile(
    values.size.toLong,
    Option.when(values.flatten.nonEmpty)((values.flatten.min, values.flatten.max)),
    Option.when(nullsKnown || values.flatten.isEmpty)(values.count(_.isEmpty).toLong)
  )

  private def order(descending: Boolean, nullsFirst: Boolean): Ordering[Value] = (a, b) =>
    (a, b) match {
      case (Some(x), Some(y)) => if (descending) y.compare(x) else x.compare(y)
      case (None, None)       => 0
      case (None, _)          => if (nullsFirst) -1 else 1
      case (_, None)          => if (nullsFirst) 1 else -1
    }

  private def forAllChoices(check: (Vector[Vector[Value]], Int, Ordering[Value], Boolean, TopFiles) => Any): Unit =
    forAll(tables, Gen.choose(1, 12), Gen.prob(0.5), Gen.prob(0.5)) { (table, rows, descending, nullsFirst) =>
      val facts = table.map { case (values, known, nullsKnown) => Option.when(known)(factsOf(values, nullsKnown)) }
      TopFiles.of(facts, rows.toLong, TopOrder(descending, nullsFirst)).foreach { choice =>
        check(table.map(_._1), rows, order(descending, nullsFirst), nullsFirst, choice)
      }
    }

  test("the kept files hold the first rows, ties with the last of them included") {
    forAllChoices { (table, rows, order, _, choice) =>
      val sorted = table.flatten.sorted(order)
      assert(sorted.size >= rows)
      val last = sorted(rows - 1)
      val needed = table.indices.filter(i => table(i).exists(order.lteq(_, last)))
      assert(needed.forall(choice.kept.contains), (table, choice))
    }
  }

  test("the first rows are sorted before the bound or equal to it") {
    forAllChoices { (table, rows, order, _, choice) =>
      choice.bound.foreach(bound => assert(order.lteq(table.flatten.sorted(order).apply(rows - 1), Some(bound))))
    }
  }

  test("of files that follow each other only the first ones are kept") {
    val clustered = (0 until 100).map(i => Option(KeyedFile(1000, Some((i * 10L, i * 10L + 9)), Some(0))))
    assert(TopFiles.of(clustered, 100, TopOrder(descending = false, nullsFirst = true)).map(_.kept).contains(Seq(0)))
    assert(TopFiles.of(clustered, 1500, TopOrder(descending = true, nullsFirst = false)).map(_.kept).contains(Seq(98, 99)))
  }

  test("without enough rows in the known files there is no bound") {
    val files = Vector(Some(KeyedFile(10, Some((1, 2)), Some(8))), None)
    val order = TopOrder(descending = false, nullsFirst = false)
    assert(TopFiles.of(files, 3, order).isEmpty)
    assert(TopFiles.of(files, 2, order).contains(TopFiles(Seq(0, 1), Some(2))))
    assert(TopFiles.of(Vector.empty, 1, order).isEmpty)
  }

  test("files read in waves give the first rows, whatever is unknown of them") {
    forAll(tables, Gen.choose(1, 12), Gen.zip(Gen.prob(0.5), Gen.prob(0.5)), Gen.choose(1, 3)) { (table, rows, direction, slots) =>
      val top = TopOrder(direction._1, direction._2)
      val sort = order(direction._1, direction._2)
      val files = table.zipWithIndex.map { case ((values, known, nullsKnown), i) =>
        TopFile(i, Option.when(known)(top.first(factsOf(values, nullsKnown))), values.size.toLong)
      }
      var waves = TopWaves.of(files, rows.toLong, slots)
      var (found, read) = (Vector.empty[Value], Vector.empty[Int])
      while (waves.files.nonEmpty) {
        val next = waves.next(read.size)
        assert(next.nonEmpty && !next.map(_.position).exists(read.contains))
        read ++= next.map(_.position)
        found = (found ++ next.flatMap(file => table(file.position)._1)).sorted(sort).take(rows)
        waves = waves.after(next, found.lift(rows - 1).map(top.rank))
      }
      assert(found == table.flatMap(_._1).sorted(sort).take(rows))
    }
  }

  test("values that are spread over all files are found in the files with the smallest ones") {
    val random = new scala.util.Random(1)
    val table = (0 until 500).map(i => i -> Vector.fill(1000)(random.nextLong() >>> 1))
    var waves = TopWaves.of(table.map { case (i, values) => TopFile(i, Some((1, values.min)), 1000) }, 20, slots = 2)
    var (found, read) = (Vector.empty[Long], 0)
    while (waves.files.nonEmpty) {
      val next = waves.next(read)
      read += next.size
      found = (found ++ next.flatMap(file => table(file.position)._2)).sorted.take(20)
      waves = waves.after(next, found.lift(19).map(value => (1, value)))
    }
    assert(found == table.flatMap(_._2).sorted.take(20))
    assert(read <= 40)
  }

  test("a sample tells whether the first rows are in few files") {
    val (up, down) = (TopOrder(descending = false, nullsFirst = true), TopOrder(descending = true, nullsFirst = false))
    def sample(range: Int => (Long, Long), nulls: Long = 0): Seq[Option[KeyedFile]] =
      (0 until 8).map(i => Option(KeyedFile(10000, Some(range(i)), Some(nulls))))
    val clustered = sample(i => (i * 1000000L, i * 1000000L + 9999))
    assert(TopFiles.expected(clustered, 100, 100, up) == 1 && TopFiles.expected(clustered, 100, 100, down) == 1)
    assert(TopFiles.expected(clustered, 100, 1e9, up) == 8, "more rows than there are")
    val everywhere = sample(_ => (0L, 999L))
    assert(TopFiles.expected(everywhere, 100, 100, up) == 8 && TopFiles.expected(everywhere, 100, 100, down) == 8)
    val random = new scala.util.Random(1)
    val spread = sample(_ => (random.between(0L, 1000000000L), Long.MaxValue))
    assert(TopFiles.expected(spread, 1000, 1e-6, up) <= 1, "a few rows of a very large range")
    assert(TopFiles.expected(sample(i => (i * 100L, i * 100L + 9), nulls = 1), 100, 100, up) == 8, "nulls in each file come first")
    assert(TopFiles.expected(clustered.map(_ => None), 100, 100, up) == 8, "nothing is known of the files")
  }
}
