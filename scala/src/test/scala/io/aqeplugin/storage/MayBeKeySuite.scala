package io.aqeplugin.storage

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BoundReference
import org.apache.spark.sql.types.IntegerType
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.filters.{FilterLimits, KeyCollector, KeyFilter}

class MayBeKeySuite extends AnyFunSuite {

  private val filter: KeyFilter = {
    val collector = new KeyCollector(FilterLimits(1, 100, 1L << 20, 0.01), integral = true)
    collector.add(3)
    collector.result().toFilter(1).fold(refusal => fail(refusal.toString), identity)
  }

  private val condition = MayBeKey(BoundReference(0, IntegerType, nullable = true), filter)

  private def answers(one: MayBeKey): Seq[Any] = Seq(InternalRow(3), InternalRow(4), InternalRow(null)).map(one.eval)

  test("the driver knows which values may be keys") {
    assert(answers(condition) == Seq(true, false, false))
  }

  test("in a task, which has no filter, every value may be one") {
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(condition)
    val there = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject().asInstanceOf[MayBeKey]
    assert(answers(there) == Seq(true, true, true))
  }
}
