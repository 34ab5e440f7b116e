package io.aqeplugin.observe

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.LeafExecNode
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.types.IntegerType
import org.scalatest.funsuite.AnyFunSuite

/** Which hints on a join its author wrote, and which AQE set on a side whose stage has finished. */
class AuthorHintSuite extends AnyFunSuite {
  import AuthorHintSuite._

  private val unrun = LocalRelation(AttributeReference("k", IntegerType)())
  private val finished = LogicalQueryStage(unrun, Finished(unrun.output))

  private type HintedSide = (LogicalPlan, Option[JoinStrategyHint])

  private def joined(left: HintedSide, right: HintedSide): Join = {
    def info(side: HintedSide): Option[HintInfo] = side._2.map(hint => HintInfo(strategy = Some(hint)))
    Join(left._1, right._1, Inner, None, JoinHint(info(left), info(right)))
  }

  private def authorHint(left: HintedSide, right: HintedSide): Option[String] = AuthorHint.of(joined(left, right))

  test("a join without hints has no author's hint") {
    assert(authorHint(finished -> None, unrun -> None).isEmpty)
  }

  for (hint <- Seq(BROADCAST, SHUFFLE_MERGE, SHUFFLE_HASH, SHUFFLE_REPLICATE_NL))
    test(s"${hint.displayName} on a side that has not run is the author's") {
      assert(authorHint(unrun -> Some(hint), unrun -> None).contains(hint.displayName))
      assert(authorHint(finished -> None, unrun -> Some(hint)).contains(hint.displayName))
    }

  for (hint <- Seq(BROADCAST, SHUFFLE_MERGE, SHUFFLE_REPLICATE_NL))
    test(s"${hint.displayName} on a finished side is the author's: AQE never sets it") {
      assert(authorHint(unrun -> None, finished -> Some(hint)).contains(hint.displayName))
    }

  for (hint <- Seq(NO_BROADCAST_HASH, SHUFFLE_HASH) ++ ThisSparkLine.preferredHash)
    test(s"${hint.displayName} on a side that has finished is AQE's") {
      assert(authorHint(finished -> Some(hint), unrun -> None).isEmpty)
      assert(authorHint(finished -> Some(hint), finished -> Some(hint)).isEmpty)
    }

  test("a SHUFFLE_HASH that was seen before its side ran stays the author's") {
    val join = joined(unrun -> Some(SHUFFLE_HASH), unrun -> None)
    assert(AuthorHint.of(join).contains("shuffle_hash"))
    assert(AuthorHint.of(join.withNewChildren(Seq(finished, finished)).asInstanceOf[Join]).contains("shuffle_hash"))
  }

  test("AQE's hint on one side does not hide the author's on the other") {
    assert(authorHint(finished -> Some(NO_BROADCAST_HASH), unrun -> Some(SHUFFLE_MERGE)).contains("merge"))
    assert(authorHint(unrun -> Some(BROADCAST), finished -> Some(SHUFFLE_HASH)).contains("broadcast"))
  }
}

object AuthorHintSuite {

  /** The plan of a stage that has finished. */
  private final case class Finished(output: Seq[Attribute]) extends LeafExecNode {
    override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException
  }
}
