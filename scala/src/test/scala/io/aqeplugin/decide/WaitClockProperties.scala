package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.conf.AqeConf

class WaitClockProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val thresholds = Thresholds.Default
  private val millis = Gen.choose(0.0, 1e6)

  private val waits: Gen[WaitDecision] = for {
    saving <- Gen.choose(0.001, 1e6)
    build <- millis
  } yield WaitDecision(waits = true, Reason(ReasonCode.WaitPays), saving, 0, build)

  private val progress: Gen[WaitProgress] = for {
    waited <- millis
    share <- Gen.choose(0.0, 1.0)
    tasks <- Gen.choose(0, 100)
    done <- Gen.choose(0, tasks)
    slots <- Gen.choose(0, 200)
    idleShare <- Gen.choose(0.0, 1.0)
    idleBefore <- Gen.oneOf(true, false)
  } yield WaitProgress(waited, waited * share, done, tasks, slots, idleShare, idleBefore)

  private def goesOn(wait: WaitDecision, now: WaitProgress): Boolean = WaitClock.check(wait, now, thresholds).isRight

  test("a wait that goes on is checked later than now, and at its limit at the latest") {
    forAll(waits, progress) { (wait, now) =>
      WaitClock.check(wait, now, thresholds).foreach { next =>
        assert(next.afterMillis > now.waitedMillis && next.afterMillis <= thresholds(AqeConf.WaitLimit))
      }
    }
  }

  test("idle slots end a wait only when two checks find them, the second soon after the first") {
    forAll(waits, progress) { (wait, now) =>
      val first = WaitClock.check(wait, now.copy(idleBefore = false), thresholds)
      val second = WaitClock.check(wait, now.copy(idleBefore = true), thresholds)
      first.left.foreach(reason => assert(reason.confKey == AqeConf.WaitLimit.key))
      first.foreach(next => assert(next.isIdle == second.isLeft))
      if (second.isLeft) first.foreach(next => assert(next.afterMillis <= now.waitedMillis + thresholds(AqeConf.WaitCheckAfter)))
    }
  }

  test("a wait ends at its limit, whatever it would save") {
    forAll(waits, progress) { (wait, now) =>
      val reason = WaitClock.check(wait, now.copy(waitedMillis = thresholds(AqeConf.WaitLimit).toDouble), thresholds).left.toOption
      assert(reason.exists(r => r.code == ReasonCode.WaitReleased && r.confKey == AqeConf.WaitLimit.key))
    }
  }

  test("a wait goes on while no slot is idle or nothing remains to be done") {
    forAll(waits, progress) { (wait, now) =>
      assert(goesOn(wait, now.copy(idleShare = 0)))
      if (now.tasks > 0) assert(goesOn(wait, now.copy(doneTasks = now.tasks)))
    }
  }

  test("more finished tasks, fewer idle slots or a larger saving never end a wait") {
    forAll(waits, progress, Gen.choose(0.0, 1.0)) { (wait, now, share) =>
      if (goesOn(wait, now)) {
        if (now.doneTasks > 0) assert(goesOn(wait, now.copy(doneTasks = now.doneTasks + ((now.tasks - now.doneTasks) * share).toInt)))
        assert(goesOn(wait, now.copy(idleShare = now.idleShare * share)))
        assert(goesOn(wait.copy(savingMillis = wait.savingMillis / math.max(share, 0.01)), now))
      }
    }
  }

  test("a wait is released when the idle slots to come cost more than half the saving") {
    val wait = WaitDecision(waits = true, Reason(ReasonCode.WaitPays), savingMillis = 10000, idleMillis = 40, buildMillis = 500)
    def at(waited: Double, done: Int): Either[Reason, NextCheck] =
      WaitClock.check(wait, WaitProgress(waited, waited, done, tasks = 100, slots = 2, 0.5, idleBefore = true), thresholds)
    assert(at(waited = 4000, done = 30).isRight)
    assert(at(waited = 3000, done = 2).left.toOption.flatMap(_.measured).contains(48500.0))
    assert(at(waited = 4000, done = 0).isRight && at(waited = 11000, done = 0).isLeft)
  }

  test("a wait that goes on because every slot is busy is checked before idle slots could cost its saving") {
    val wait = WaitDecision(waits = true, Reason(ReasonCode.WaitPays), savingMillis = 2000, idleMillis = 40, buildMillis = 60000)
    val busy = WaitProgress(waitedMillis = 1000, stageMillis = 1000, doneTasks = 0, tasks = 10, slots = 2, idleShare = 0, idleBefore = true)
    assert(WaitClock.check(wait, busy, thresholds) == Right(NextCheck(2000, isIdle = false)))
  }

  test("what the stages below have taken says nothing of the build side's own stage") {
    val wait = WaitDecision(waits = true, Reason(ReasonCode.WaitPays), savingMillis = 10000, idleMillis = 40, buildMillis = 500)
    def after(stageMillis: Double, done: Int): WaitProgress =
      WaitProgress(60000, stageMillis, done, tasks = 10, slots = 2, 1.0, idleBefore = true)
    assert(goesOn(wait, after(stageMillis = 1000, done = 1)) && goesOn(wait, after(stageMillis = 0, done = 0)))
    assert(!goesOn(wait, after(stageMillis = 60000, done = 1)))
  }

  test("the first check comes when the build side is predicted to end or the saving to be lost") {
    val wait = WaitDecision(waits = true, Reason(ReasonCode.WaitPays), savingMillis = 10000, idleMillis = 40, buildMillis = 3000)
    assert(WaitClock.firstCheckMillis(wait, thresholds) == 3000)
    assert(WaitClock.firstCheckMillis(wait.copy(savingMillis = 4000), thresholds) == 2000)
    assert(WaitClock.firstCheckMillis(wait.copy(buildMillis = 1), thresholds) == thresholds(AqeConf.WaitCheckAfter))
  }
}
