package io.aqeplugin.limit

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.decide.ReasonCode
import io.aqeplugin.e2e.Extent

/** A file as the decision sees it, with the rows that really match. */
private final case class TrueFile(file: FileFacts, matching: Long)

/** Which files a limit reads, over random tables whose matching rows are known to the test. */
class LimitProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = Extent.inputs(2000))

  private val truth: Gen[TrueFile] = for {
    rows <- Gen.frequency(1 -> Gen.const(0L), 6 -> Gen.choose(1L, 20L))
    known <- Gen.prob(0.8)
    proof <- Gen.oneOf(Proof.AllMatch, Proof.NoneMatch, Proof.Unknown)
    some <- Gen.choose(0L, rows)
    bytes <- Gen.choose(1L, 5L)
  } yield TrueFile(
    FileFacts(Option.when(known)(rows), bytes, proof),
    proof match {
      case Proof.AllMatch  => rows
      case Proof.NoneMatch => 0L
      case Proof.Unknown   => some
    }
  )

  private val tables: Gen[Vector[TrueFile]] = Gen.choose(0, 9).flatMap(Gen.containerOfN[Vector, TrueFile](_, truth))
  private val wanted: Gen[Long] = Gen.frequency(8 -> Gen.choose(0L, 60L), 1 -> Gen.const(Int.MaxValue.toLong))

  private def forAllChoices(check: (Vector[TrueFile], Long, FileChoice) => Any): Unit = forAll(tables, wanted) { (table, rows) =>
    check(table, rows, FileChoice.of(table.map(_.file), rows))
    ()
  }

  test("the chosen files hold the limit's rows, or all matching rows of the table") {
    forAllChoices { (table, rows, choice) =>
      val read = if (choice.isEnough) choice.first else choice.order
      assert(read.map(table(_).matching).sum >= math.min(rows, table.map(_.matching).sum))
    }
  }

  test("proven rows are never more than the rows that match") {
    forAllChoices((table, _, choice) => assert(choice.provenRows <= choice.first.map(table(_).matching).sum))
  }

  test("no smaller set of files has enough proven rows") {
    forAllChoices { (table, rows, choice) =>
      if (choice.isEnough) {
        val largest = table.map(_.file.provenRows).sorted(Ordering.Long.reverse)
        assert(rows <= 0 || largest.take(choice.first.size - 1).sum < rows)
        assert(choice.after.isEmpty)
      } else assert(table.map(_.file.provenRows).sum < rows)
    }
  }

  test("no file is read twice, and none that is known to hold no row") {
    forAllChoices { (table, _, choice) =>
      assert(choice.order.distinct == choice.order)
      assert(choice.order.forall(i => table(i).file.proof != Proof.NoneMatch && !table(i).file.rows.contains(0L)))
    }
  }

  test("the order of equal files changes nothing but which of them is read") {
    forAll(tables, wanted) { (table, rows) =>
      val choice = FileChoice.of(table.map(_.file), rows)
      assert(FileChoice.of(table.map(_.file), rows) == choice)
      val reversed = FileChoice.of(table.reverse.map(_.file), rows)
      assert((reversed.first.size, reversed.provenRows, reversed.isEnough) == ((choice.first.size, choice.provenRows, choice.isEnough)))
    }
  }

  test("row counts whose sum is no long are enough for any limit") {
    val file = FileFacts(Some(Long.MaxValue - 1), 1, Proof.AllMatch)
    assert(FileChoice.of(Vector(file, file), Long.MaxValue).isEnough)
  }

  test("a limit is left to Spark where it needs every file, and collected in waves where too little is proven") {
    def decided(operator: LimitOperator, files: Vector[FileFacts]): (LimitChoice, ReasonCode) = {
      val facts = LimitFacts(operator, "t", 10, files.size, 1, files.count(_.rows.isDefined))
      val decision = LimitDecision.of(facts, FileChoice.of(files, 10), maxFooters = 100, "key")
      (decision.choice, decision.reason.code)
    }
    val five = FileFacts(Some(5), 1, Proof.AllMatch)
    val open = FileFacts(Some(5), 1, Proof.Unknown)
    assert(decided(LimitOperator.Inner, Vector(five, five, five)) == ((LimitChoice.FewestFiles, ReasonCode.EnoughRows)))
    assert(decided(LimitOperator.Inner, Vector(five, five)) == ((LimitChoice.LeaveToSpark, ReasonCode.AllFilesNeeded)))
    assert(decided(LimitOperator.Inner, Vector(five, open)) == ((LimitChoice.LeaveToSpark, ReasonCode.RowsNotProven)))
    assert(decided(LimitOperator.Collect, Vector(five, five)) == ((LimitChoice.FewestFiles, ReasonCode.EnoughRows)))
    assert(decided(LimitOperator.Collect, Vector(five, open)) == ((LimitChoice.Waves, ReasonCode.RowsNotProven)))
    assert(decided(LimitOperator.Collect, Vector(five)) == ((LimitChoice.LeaveToSpark, ReasonCode.AllFilesNeeded)))
  }
}
