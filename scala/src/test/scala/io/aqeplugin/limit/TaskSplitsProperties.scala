package io.aqeplugin.limit

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** How the splits of a limit are packed into tasks. */
class TaskSplitsProperties extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val Large = 128L << 20
  private val Small = 200L << 10

  private def packed(bytes: Seq[Option[Long]], slots: Int): IndexedSeq[IndexedSeq[Int]] =
    TaskSplits.packed(bytes.indices, bytes.toIndexedSeq, slots)

  test("each split is in one task, and no task is empty") {
    val bytes = Gen.listOf(Gen.option(Gen.oneOf(0L, 1L, Small, Large, Long.MaxValue)))
    forAll(bytes, Gen.choose(1, 8)) { (bytes, slots) =>
      val tasks = packed(bytes, slots)
      assert(tasks.flatten.sorted == bytes.indices)
      assert(tasks.forall(_.nonEmpty))
    }
  }

  test("large splits and splits of unknown size have tasks of their own") {
    assert(packed(Seq.fill(50)(Some(Large)), 2).size == 50)
    assert(packed(Seq.fill(50)(None), 2).size == 50)
  }

  test("small splits share tasks, and every slot has two of them") {
    assert(packed(Seq.fill(16)(Some(Small)), 2).map(_.size) == Seq.fill(4)(4))
    assert(packed(Seq.fill(3)(Some(Small)), 2).size == 3)
    assert(packed(Seq.fill(1000)(Some(Small)), 2).size < 50)
  }

  test("the first splits begin the tasks") {
    assert(packed(Seq.fill(16)(Some(Small)), 2).map(_.head) == Seq(0, 1, 2, 3))
  }

  test("more small splits are queued than large ones, though not without bound") {
    assert(TaskSplits.queued(Large, 2) == 32)
    assert(TaskSplits.queued(Small, 2) > 32 && TaskSplits.queued(0, 2) <= 1024)
  }
}
